import { posix } from 'node:path';
import { defined } from '#bundles/defined';
import { FleetError } from '#bundles/errors';
import type { Step, StepResult } from '../../../model/target.ts';
import type { Wanted, WantedFile } from '../desired/read-wanted.ts';
import { OWN_PACKAGE, stopIfReplaced, whyVersionRefused } from '../../../store/upgrade-trial.ts';
import type { HostTargetOptions } from '../host-options.ts';
import type { DebsDetail } from '../host-step.ts';
import type { StepContent } from '../step-request.ts';
import { runStep } from '../runner/run-step.ts';
import { stepError } from '../runner/step-error.ts';

/** Long enough for hundreds of packages on a slow disk; a maintainer script that hangs ends the step. */
const TIMEOUT_SECONDS = 3600;

/**
 * @throws FleetError DEB_FAILED naming the Debian package; DEB_BLOCKED naming what is wrong on the host; DISK_FULL; BUSY; ABORTED when a
 * new version of the agent takes over; as runStep
 */
export const executeDebs = async (
  options: HostTargetOptions,
  step: Step,
  detail: DebsDetail,
  wanted: Wanted | undefined,
  signal: AbortSignal,
): Promise<StepResult> => {
  refuseFailedVersion(options, detail);
  const result = await runStep(
    {
      kind: 'debs',
      content: wanted?.install
        ? [...contentOf(wanted, wanted.install.repository), ...programsOf(wanted, detail.hooks)]
        : [],
      timeoutSeconds: detail.hooks.reduce((sum, hook) => sum + hook.timeoutSeconds, TIMEOUT_SECONDS),
      // A request is a file on a disk, where no secret goes.
      secrets: [],
      ...detail,
    },
    options,
    signal,
  );
  // The operation stays open. The version on trial completes it, or the version before it reports why it cannot.
  stopIfReplaced(options.state);
  const { note, surroundings } = result;
  if (result.outcome === 'succeeded') {
    const reason = note === undefined ? step.reason : `${step.reason}; ${note}`;
    return { key: step.key, outcome: step.outcome, reason };
  }
  if (surroundings !== undefined) throw stepError('DEB_BLOCKED', result.message, result, surroundings);
  throw stepError('DEB_FAILED', result.message, result, '/var/log/apt/term.log shows the output');
};

/** A version of the agent that did not come up on this host is not installed again. @throws FleetError DEB_FAILED */
const refuseFailedVersion = ({ state }: HostTargetOptions, { install }: DebsDetail): void => {
  const own = install.find(({ name }) => name === OWN_PACKAGE);
  const why = own && whyVersionRefused(state, own.version);
  if (why === undefined) return;
  throw new FleetError('DEB_FAILED', `${OWN_PACKAGE} ${own?.version} did not come up on this host: ${why}`, {
    hint: `rm ${state}/upgrade/refused/${own?.version} allows another attempt`,
  });
};

/** All files of the repository: packages from the store, the index as the release has it. */
const contentOf = ({ files }: Wanted, repository: string): readonly StepContent[] =>
  [...files.values()]
    .filter(({ path }) => posix.dirname(path) === repository)
    .map((file) => carry(file, posix.basename(file.path)));

/** @throws FleetError BUNDLE_FORMAT */
const programsOf = ({ files, assignment }: Wanted, hooks: DebsDetail['hooks']): readonly StepContent[] =>
  hooks.map(({ path, program }) => {
    const file = files.get(path);
    if (!file) throw new FleetError('BUNDLE_FORMAT', `${assignment} has a hook ${path}, but no such file`);
    return carry(file, program);
  });

const carry = (file: WantedFile, path: string): StepContent => {
  const { digest, size } = file;
  return defined({ path, digest, size, bytes: 'bytes' in file ? file.bytes.toString('base64') : undefined });
};
