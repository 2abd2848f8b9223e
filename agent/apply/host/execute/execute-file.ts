import { posix } from 'node:path';
import { type Digest, hexOf, shortDigest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { Step, StepResult } from '../../target.ts';
import { backUp, hasBackup } from '../backups.ts';
import type { Wanted } from '../desired/read-wanted.ts';
import type { HostTargetOptions } from '../host-options.ts';
import type { FileDetail } from '../host-step.ts';
import type { Folder } from '../live/open-folder.ts';
import type { Entry } from '../live/read-entry.ts';
import { writeStarted } from '../systemd/started.ts';
import { openParent } from './open-parent.ts';
import { putFile, readReplaceable } from './put-file.ts';

/**
 * Makes a file what the plan says, looking again first: what was not ours to overwrite is saved, whenever it came;
 * bytes that are there already are not written again.
 */
export const executeFile = async (
  options: HostTargetOptions,
  step: Step,
  detail: FileDetail,
  wanted: Wanted | undefined,
  signal: AbortSignal,
): Promise<StepResult> => {
  const { path } = detail;
  const file = wanted?.files.get(path);
  if (file?.digest !== detail.digest)
    throw new FleetError('APPLY_FAILED', `the plan for ${path} was made for another package`, {
      hint: 'Plan again',
    });
  await using folder = await openParent(options.root, path);
  const name = posix.basename(path);
  const live = await readReplaceable(folder, name, path);

  const saved = await saveIfForeign(options, folder, name, path, live, detail.ours);
  await outdate(options, detail.outdates);
  await putFile(folder, name, path, live, file, detail, signal);
  return { key: step.key, outcome: step.outcome, reason: [step.reason, ...saved].join('; ') };
};

/** Keeps a copy of what somebody else wrote; says so. The digest's beginning is its name in the backups folder. */
export const saveIfForeign = async (
  options: HostTargetOptions,
  folder: Folder,
  name: string,
  path: string,
  live: Entry,
  ours: readonly Digest[],
): Promise<readonly string[]> => {
  if (live.type === 'link') return [`it was a link to ${live.target}`];
  if (live.type !== 'file' || ours.includes(live.digest)) return [];
  if (!(await hasBackup(options.backups, live.digest))) await backUp(options.backups, folder, name, path);
  return [
    `a copy is kept as ${hexOf(live.digest).slice(0, shortDigest(live.digest).length - 'sha256:'.length)}`,
  ];
};

/** Before the change: see started.ts. */
export const outdate = async (options: HostTargetOptions, names: readonly string[]): Promise<void> => {
  for (const name of names) await writeStarted(options, name, 'stale');
};
