import { defined } from '#bundles/defined';
import type { HostPlaybook } from '#bundles/formats/bundle/host-package';
import { canonicalBytes } from '#bundles/json/canonical';
import { type Digest, digestOf, hexOf } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { secretTexts } from '../../../secrets/redact.ts';
import type { DesiredPackage } from '../../../model/target.ts';
import { readWanted, type Wanted, type WantedFile } from '../desired/read-wanted.ts';
import type { HostTargetOptions } from '../host-options.ts';
import type { PlaybookRequest, RunnerResult, StepContent } from '../step-request.ts';
import { runStep } from '../runner/run-step.ts';

/** Inventory entry of a playbook. */
export type OwnedPlaybook = {
  /** Digest of the last complete run; null if it is not known to have completed. */
  readonly applied: Digest | null;
  /** Keys of tasks that would have changed something right after the playbook ran. */
  readonly unstable: readonly string[];
};

/** Unique on the host, because no two packages share a folder. */
export const playbookKey = ({ folder }: Pick<HostPlaybook, 'folder'>): string => `playbook:${folder}`;

/** Changes with anything that the playbook is made of, site values included. */
export const playbookDigest = (playbook: HostPlaybook, wanted: Wanted): Digest =>
  digestOf(
    canonicalBytes({
      playbook: { ...playbook, checkSeconds: 0, timeoutSeconds: 0 },
      content: pathsOf(playbook).map((path) => fileOf(wanted, path).digest),
    }),
  );

const pathsOf = ({ files, collections, roles }: HostPlaybook): readonly string[] => [
  ...files,
  ...[...collections, ...roles].map(({ path }) => path),
];

/** @throws FleetError BUNDLE_FORMAT */
const fileOf = ({ files, assignment }: Wanted, path: string): WantedFile => {
  const file = files.get(path);
  if (file) return file;
  throw new FleetError(
    'BUNDLE_FORMAT',
    `a playbook of ${assignment} needs ${path}, which is not in the package`,
  );
};

/** Time for unpacking collections beside the playbook's own limit. */
const MARGIN_SECONDS = 120;

/**
 * Runs a playbook to its end or in check mode, apart from the daemon. A failed playbook is a result.
 * @throws FleetError as runStep; BUNDLE_FORMAT
 */
export const runPlaybook = async (
  options: HostTargetOptions,
  playbook: HostPlaybook,
  { desired, mode }: { readonly desired: DesiredPackage; readonly mode: PlaybookRequest['mode'] },
  signal: AbortSignal,
): Promise<RunnerResult> => {
  const wanted = readWanted(desired);
  const { folder, files, collections, roles, variables, vaultPassword } = playbook;
  const below = (path: string): string => `playbook/${path.slice(folder.length + 1)}`;
  const archives = [...collections, ...roles].map(({ path }, index) => ({ path, at: `archives/${index}` }));
  const request: PlaybookRequest = defined({
    kind: 'playbook',
    mode,
    record: hexOf(digestOf(Buffer.from(playbookKey(playbook)))).slice(0, 32),
    content: [
      ...files.map((path) => contentOf(wanted, path, below(path))),
      ...archives.map(({ path, at }) => contentOf(wanted, path, at)),
    ],
    playbook: playbook.playbook,
    variables: variables !== undefined ? below(variables) : undefined,
    collections: collections.map((one, index) => ({ ...one, path: `archives/${index}` })),
    roles: roles.map((one, index) => ({ ...one, path: `archives/${collections.length + index}` })),
    vaultPassword,
    become: playbook.become,
    limitSeconds: playbook.timeoutSeconds,
    timeoutSeconds: playbook.timeoutSeconds + MARGIN_SECONDS,
    secrets: secretTexts(desired),
  });
  return await runStep(request, options, signal);
};

const contentOf = (wanted: Wanted, path: string, at: string): StepContent => {
  const file = fileOf(wanted, path);
  const { digest, size } = file;
  return defined({
    path: at,
    digest,
    size,
    bytes: 'bytes' in file ? file.bytes.toString('base64') : undefined,
  });
};
