import { chmod, lstat, mkdir, readdir, readFile, readlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type HostTargetOptions, hostTarget } from '../../../../agent/apply/host/host-target.ts';
import { readOwned } from '../../../../agent/apply/host/owned/owned-state.ts';
import { runCommand } from '../../../../agent/apply/host/run-command.ts';
import type {
  DesiredPackage,
  OwnedObject,
  Plan,
  StepResult,
  Target,
} from '../../../../agent/model/target.ts';
import type { HostCheck, HostInstall, HostUnit } from '../../../../bundles/formats/bundle/host-package.ts';
import { type Digest, digestOf } from '../../../../bundles/digest.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';

export const never: AbortSignal = new AbortController().signal;

type Meta = { readonly mode?: string; readonly owner?: string; readonly group?: string };
type FileSpec = Meta & { readonly content: string; readonly format?: 'env' | 'json' };

export type PackageSpec = {
  readonly assignment?: string;
  readonly directories?: Readonly<Record<string, Meta>>;
  readonly files?: Readonly<Record<string, string | FileSpec>>;
  readonly units?: readonly (Partial<HostUnit> & { readonly name: string })[];
  readonly checks?: readonly HostCheck[];
  readonly install?: HostInstall;
  readonly siteInputs?: readonly { file: string; pointer: string; value: string | number }[];
};

const isProbe = ({ type }: HostCheck): boolean => type === 'tcp' || type === 'file';

/** A package as the store would give it, from the little that a test wants to say. */
export const packageOf = (spec: PackageSpec): DesiredPackage => {
  const assignment = spec.assignment ?? 'kiosk';
  const described = ({ mode, owner, group }: Meta, usual: string) => ({
    mode: mode ?? usual,
    owner: owner ?? 'root',
    group: group ?? 'root',
  });
  const files = Object.entries(spec.files ?? {}).map(([path, given], index) => {
    const file = typeof given === 'string' ? { content: given } : given;
    const bytes = Buffer.from(file.content);
    return { path, file, bytes, name: `files/${index}` };
  });
  const document = {
    id: assignment,
    directories: Object.entries(spec.directories ?? {}).map(([path, meta]) => ({
      path,
      ...described(meta, '0755'),
    })),
    files: files.map(({ path, file, bytes, name }) => ({
      path,
      ...described(file, '0644'),
      content: name,
      digest: digestOf(bytes),
      size: bytes.length,
      ...(file.format && { format: file.format }),
    })),
    units: (spec.units ?? []).map((unit) => ({ enabled: false, active: false, restartOn: [], ...unit })),
    checks: (spec.checks ?? []).filter((check) => !isProbe(check)),
    probes: (spec.checks ?? []).filter(isProbe),
    ...(spec.install && { install: spec.install }),
    critical: [],
  };
  const json = Buffer.from(JSON.stringify(document));
  return {
    assignment,
    package: digestOf(json),
    siteValues: digestOf(JSON.stringify(spec.siteInputs ?? [])),
    files: new Map([['package.json', json], ...files.map(({ name, bytes }) => [name, bytes] as const)]),
    siteInputs: (spec.siteInputs ?? []).map((input) => ({ assignment, input: input.pointer, ...input })),
  };
};

/** The agent's part of the contract: what a package owns is written down before, and narrowed down after, its steps. */
export type Inventory = { owned: readonly OwnedObject[] };

/** Plans and executes; stops after `limit` steps, as a power cut would. */
export const applyTo = async (
  target: Target,
  inventory: Inventory,
  desired: DesiredPackage | undefined,
  taken: ReadonlyMap<string, string> = new Map(),
  limit = Number.POSITIVE_INFINITY,
): Promise<{ readonly plan: Plan; readonly results: readonly StepResult[] }> => {
  const plan = await target.plan(desired, inventory.owned, taken, never);
  // As the journal keeps it: through JSON.
  const { steps, owns } = JSON.parse(JSON.stringify(plan)) as Plan;
  inventory.owned = [
    ...new Map([...inventory.owned, ...owns].map((object) => [object.key, object])).values(),
  ];
  const results: StepResult[] = [];
  for (const step of steps.slice(0, limit)) {
    const result = await target.execute(step, desired, never);
    results.push(result);
    inventory.owned = inventory.owned.map((object) => noted(object, result));
  }
  const keys = new Set(owns.map(({ key }) => key));
  if (steps.length <= limit)
    inventory.owned = inventory.owned
      .filter(({ key }) => keys.has(key))
      .map(({ key, state: { provisional: _, ...state } }) => ({ key, state }));
  return { plan, results };
};

const noted = (object: OwnedObject, { key, state }: StepResult): OwnedObject =>
  object.key === key && state ? { ...object, state: { ...object.state, ...state } } : object;

/** Digests of what the package puts back when it leaves. */
const replacedOf = ({ owned }: Inventory): ReadonlySet<Digest> =>
  new Set(
    [...readOwned(owned).files.values()].flatMap(({ replaced }) =>
      replaced?.type === 'file' ? [replaced.digest] : [],
    ),
  );

/** 'created file:/etc/x: missing', a line a step; the unchanged ones are left out. */
export const lines = (steps: readonly Pick<StepResult, 'key' | 'outcome' | 'reason'>[]): readonly string[] =>
  steps
    .filter(({ outcome }) => outcome !== 'unchanged')
    .map(({ key, outcome, reason }) => `${outcome} ${key}: ${reason}`);

/** A host in a temporary folder. */
export const sandbox = async (given: Partial<HostTargetOptions> = {}) => {
  const folder = await temporaryDirectory('host');
  const root = join(folder.path, 'root');
  await mkdir(join(root, 'etc'), { recursive: true });
  await writeFile(join(root, 'etc/passwd'), 'root:x:0:0::/root:/bin/sh\nkiosk:x:1234:2345::/:/bin/false\n');
  await writeFile(join(root, 'etc/group'), 'root:x:0:\nkiosk:x:2345:\n');
  const inventory: Inventory = { owned: [] };
  const options: HostTargetOptions = {
    state: join(folder.path, 'state'),
    root,
    services: 'none',
    backups: join(folder.path, 'state/backups'),
    maxBackupBytes: 64 << 20,
    pinnedBackups: () => replacedOf(inventory),
    isRoot: process.getuid?.() === 0,
    run: runCommand,
    ...given,
  };
  const at = (path: string): string => join(root, path);
  return {
    folder: folder.path,
    root,
    options,
    target: hostTarget(options),
    inventory,
    at,
    read: (path: string) => readFile(at(path), 'utf8'),
    put: async (path: string, content: string, mode = 0o644) => {
      await mkdir(dirname(at(path)), { recursive: true });
      await writeFile(at(path), content);
      await chmod(at(path), mode);
    },
    tree: () => treeOf(root),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
};

/** Every entry below a folder: 'path type mode content'. */
export const treeOf = async (root: string): Promise<readonly string[]> => {
  const lines: string[] = [];
  for (const path of (await readdir(root, { recursive: true })).toSorted()) {
    const stats = await lstat(join(root, path));
    const mode = (stats.mode & 0o7777).toString(8);
    if (stats.isSymbolicLink()) lines.push(`${path} link ${await readlink(join(root, path))}`);
    else if (stats.isDirectory()) lines.push(`${path} directory ${mode}`);
    else lines.push(`${path} file ${mode} ${await readFile(join(root, path), 'utf8')}`);
  }
  return lines;
};
