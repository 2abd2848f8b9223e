import { readdir, realpath } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { errno, hostError } from '../host-error.ts';
import { type HostTargetOptions, whyUnmanaged } from '../host-options.ts';
import { QUADLET_FOLDERS } from './quadlets.ts';
import { systemctl } from './systemctl.ts';
import { listOf } from './unit-state.ts';

/** The part of systemd's search path that a boot does not empty (systemd.unit(5), "Unit File Load Path"), precedence first. */
const ON_DISK = [
  '/etc/systemd/system.control',
  '/etc/systemd/system',
  '/usr/local/lib/systemd/system',
  '/lib/systemd/system',
  '/usr/lib/systemd/system',
];

/** The search path is fixed while systemd runs. */
const known = new WeakMap<HostTargetOptions, readonly string[]>();

/** The directories of unit files, precedence first: those of the running systemd, or the usual ones where it cannot be asked. */
const readLoadPath = async (options: HostTargetOptions, signal: AbortSignal): Promise<readonly string[]> => {
  if (whyUnmanaged(options) !== undefined) return ON_DISK;
  const before = known.get(options);
  if (before) return before;
  const { stdout } = await systemctl(options, ['show', '--value', '--property=UnitPath'], signal);
  const path = listOf(stdout);
  if (path.length === 0) return ON_DISK;
  known.set(options, path);
  return path;
};

/** A directory of the host and the names in it. */
export type Listed = { readonly path: string; readonly names: readonly string[] };

/** The directories of units and quadlets that exist, precedence first, each once. */
export type UnitFolders = {
  readonly root: string;
  readonly units: readonly Listed[];
  readonly quadlets: readonly Listed[];
  /** The entry to which a path leads; the path itself if there is none. */
  readonly target: (path: string) => Promise<string>;
};

/** @param quadlets false: without the folders of quadlets. @throws FleetError PERMISSION, IO */
export const readUnitFolders = async (
  options: HostTargetOptions,
  quadlets: boolean,
  signal: AbortSignal,
): Promise<UnitFolders> => {
  const { root } = options;
  const target = (path: string): Promise<string> => resolved(root, path);
  const once = new Map<string, string>();
  for (const path of await readLoadPath(options, signal)) {
    const real = await target(path);
    if (!once.has(real)) once.set(real, path);
  }
  return {
    root,
    units: await listDirectories(root, [...once.values()]),
    quadlets: quadlets ? await listDirectories(root, await quadletFolders(root)) : [],
    target,
  };
};

/** The names in those of the directories that exist. @throws FleetError PERMISSION, IO */
export const listDirectories = async (root: string, paths: readonly string[]): Promise<readonly Listed[]> => {
  const found: Listed[] = [];
  for (const path of paths) {
    const names = await readdir(join(root, path)).catch(emptyIfMissing(path));
    if (names) found.push({ path, names });
  }
  return found;
};

/** Quadlets are read from subfolders as well, but not from those of drop-ins and of users. */
const quadletFolders = async (root: string): Promise<readonly string[]> => {
  const paths: string[] = [];
  for (const folder of QUADLET_FOLDERS) {
    const entries = await readdir(join(root, folder), { recursive: true, withFileTypes: true }).catch(
      emptyIfMissing(folder),
    );
    const below = (entries ?? [])
      .filter((entry) => entry.isDirectory())
      .map(({ parentPath, name }) =>
        join(folder, posix.relative(join(root, folder), join(parentPath, name))),
      );
    paths.push(
      folder,
      ...below.filter((path) => !/\.d(\/|$)/.test(path) && !path.startsWith(`${folder}/users`)),
    );
  }
  return paths;
};

/** systemd takes a link that leads nowhere for no directory, too. */
const emptyIfMissing =
  (path: string) =>
  (error: unknown): undefined => {
    if (!['ENOENT', 'ENOTDIR', 'ELOOP'].includes(errno(error) ?? ''))
      throw hostError(error, `reading the directory ${path}`);
  };

const resolved = async (root: string, path: string): Promise<string> => {
  try {
    const base = root === '/' ? '' : await realpath(root);
    const real = await realpath(join(root, path));
    return real.startsWith(`${base}/`) ? real.slice(base.length) : real;
  } catch {
    return path;
  }
};
