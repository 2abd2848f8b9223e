import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { defined } from '#bundles/defined';
import { writeFileAtomically } from '#bundles/formats/layout/write-file';
import { errno, hostError } from '../host-error.ts';
import type { DebRelease } from '../step-request.ts';
import type { DpkgState } from './dpkg-state.ts';

/**
 * Folder beside dpkg's database that marks the Debian packages that the agent installed, one file a package. It stays when the agent's
 * state directory is lost, and goes with the database.
 */
const FOLDER = '/var/lib/dpkg/fleet-agent';
/** dpkg's list of files of each package, written anew whenever the package is unpacked. */
const LISTS = '/var/lib/dpkg/info';

type Mark = {
  /** The version that is installed; also the one that a running step installs. */
  readonly versions: readonly string[];
  /** When dpkg unpacked it; absent while a step runs. Another time: somebody else removed it and installed it since. */
  readonly unpacked?: string;
};

/** Names of the Debian packages that are as the agent installed them. @throws FleetError PERMISSION, IO */
export const readMarked = async (dpkg: ReadonlyMap<string, DpkgState>): Promise<ReadonlySet<string>> => {
  const marked = new Set<string>();
  for (const name of await namesIn(FOLDER)) {
    const state = dpkg.get(name);
    if (!state || state.status === 'removed') continue;
    const mark = await readMark(name);
    if (!mark?.versions.includes(state.version)) continue;
    if (mark.unpacked === undefined || mark.unpacked === (await unpackedAt(name))) marked.add(name);
  }
  return marked;
};

/**
 * Marks these packages as installed by the agent, before (`work` may be killed) and after the work. Marks of packages that are gone
 * afterwards are removed.
 * @throws FleetError DISK_FULL, PERMISSION, IO
 */
export const whileMarking = async <T>(
  releases: readonly DebRelease[],
  readDpkg: () => Promise<ReadonlyMap<string, DpkgState>>,
  work: () => Promise<T>,
): Promise<T> => {
  const marked = await readMarked(await readDpkg());
  for (const { name, version } of releases) {
    const before = marked.has(name) ? ((await readMark(name))?.versions ?? []) : [];
    await writeMark(name, { versions: [...new Set([...before, version])] });
  }
  const settle = async (): Promise<void> => settleMarks(releases, await readDpkg());
  let result: T;
  try {
    result = await work();
  } catch (error) {
    await settle().catch(() => undefined);
    throw error;
  }
  await settle();
  return result;
};

const settleMarks = async (
  releases: readonly DebRelease[],
  dpkg: ReadonlyMap<string, DpkgState>,
): Promise<void> => {
  for (const { name } of releases) {
    const version = dpkg.get(name)?.version;
    if (version === undefined || !(await readMark(name))?.versions.includes(version)) continue;
    const unpacked = await unpackedAt(name);
    await writeMark(name, defined({ versions: [version], unpacked }));
  }
  for (const name of await namesIn(FOLDER))
    if ((dpkg.get(name)?.status ?? 'removed') === 'removed') await rm(join(FOLDER, name), { force: true });
};

const namesIn = async (folder: string): Promise<readonly string[]> => {
  try {
    return await readdir(folder);
  } catch (error) {
    if (errno(error) === 'ENOENT') return [];
    throw hostError(error, `reading ${folder}`);
  }
};

/** undefined for a damaged mark: then it was not the agent. */
const readMark = async (name: string): Promise<Mark | undefined> => {
  try {
    return JSON.parse(await readFile(join(FOLDER, name), 'utf8')) as Mark;
  } catch (error) {
    if (error instanceof SyntaxError || errno(error) === 'ENOENT') return undefined;
    throw hostError(error, `reading ${FOLDER}/${name}`);
  }
};

const writeMark = async (name: string, mark: Mark): Promise<void> => {
  try {
    await mkdir(FOLDER, { recursive: true, mode: 0o755 });
    await writeFileAtomically(join(FOLDER, name), Buffer.from(JSON.stringify(mark)), 0o644);
  } catch (error) {
    throw hostError(error, `writing ${FOLDER}/${name}`);
  }
};

/** The lists of one name, by architecture where dpkg has several: '<name>.list' or '<name>:<architecture>.list'. */
const unpackedAt = async (name: string): Promise<string | undefined> => {
  const times: string[] = [];
  for (const file of await namesIn(LISTS))
    if (file === `${name}.list` || (file.startsWith(`${name}:`) && file.endsWith('.list')))
      times.push(`${file} ${Math.floor((await stat(join(LISTS, file))).mtimeMs / 1000)}`);
  return times.length > 0 ? times.toSorted().join(', ') : undefined;
};
