import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { compareBytes, digestOf } from '#bundles/digest';
import { FleetError, toFleetError } from '#bundles/errors';
import { inParallel } from '#bundles/in-parallel';
import { openRepository, resolveRevision } from '../platform/sources/git-repository.ts';
import type { Location } from '../platform/sources/location.ts';
import { repositoryKey } from '../platform/sources/repository-url.ts';
import { withoutRepository } from '../platform/sources/run-git.ts';
import { keyOf } from './watched.ts';

export type LookOptions = {
  readonly cacheDirectory: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
};

/** How a source is now, or why nobody knows. */
export type Seen = { readonly mark: string } | { readonly error: FleetError };

/** git is a process each. */
const WIDTH = 8;

/**
 * Looks at every source without fetching anything: one `git ls-remote` a repository, however many branches of it are
 * read, and the times of the files of a directory. @throws FleetError ABORTED, TOOL_MISSING
 */
export const look = async (
  locations: readonly Location[],
  options: LookOptions,
): Promise<ReadonlyMap<string, Seen>> => {
  const groups = [...Map.groupBy(locations, groupOf).values()];
  const seen = await inParallel(groups, WIDTH, (group) => lookAt(group, options));
  return new Map(seen.flat());
};

const groupOf = (location: Location): string =>
  location.kind === 'directory' ? `directory ${location.directory}` : repositoryKey(location.repo);

const lookAt = async (
  group: readonly Location[],
  { cacheDirectory, env, signal }: LookOptions,
): Promise<readonly (readonly [string, Seen])[]> => {
  const [first] = group;
  if (!first) return [];
  try {
    if (first.kind === 'directory') {
      const mark = await markOf(first.directory);
      return group.map((location) => [keyOf(location), { mark }]);
    }
    const repository = await openRepository(
      { env: withoutRepository(env), signal },
      first.repo,
      cacheDirectory,
    );
    return group.map((location) => [
      keyOf(location),
      orError(() => (location.kind === 'git' ? resolveRevision(repository, location.revision) : '')),
    ]);
  } catch (error) {
    const known = told(error);
    return group.map((location) => [keyOf(location), { error: known }]);
  }
};

const orError = (read: () => string): Seen => {
  try {
    return { mark: read() };
  } catch (error) {
    return { error: told(error) };
  }
};

/** What is no fault of one source is thrown. */
const told = (error: unknown): FleetError => {
  const known = toFleetError(error, 'looking at a source');
  if (['ABORTED', 'TOOL_MISSING', 'INTERNAL'].includes(known.code)) throw known;
  return known;
};

const MAX_FILES = 200_000;

/** Names, sizes and times of all files: what an editor changes. Not what is in them, so it costs no reading. */
const markOf = async (directory: string): Promise<string> => {
  const lines: string[] = [];
  const visit = async (path: string): Promise<void> => {
    const entries = await readdir(join(directory, path), { withFileTypes: true }).catch((error: unknown) => {
      throw missing(error, directory);
    });
    for (const entry of entries.toSorted((a, b) => compareBytes(a.name, b.name))) {
      if (entry.name === '.git') continue;
      const below = join(path, entry.name);
      if (entry.isDirectory()) await visit(below);
      else {
        // A file that goes away under our eyes is a change, which the next look sees.
        const found = await lstat(join(directory, below)).catch(() => undefined);
        lines.push(`${below} ${found?.size ?? '-'} ${found?.mtimeMs ?? '-'} ${found?.mode ?? '-'}`);
      }
      if (lines.length > MAX_FILES)
        throw new FleetError('TOO_MANY', `${directory} has more than ${MAX_FILES} files`);
    }
  };
  await visit('.');
  return digestOf(lines.join('\n'));
};

const missing = (error: unknown, directory: string): FleetError =>
  (error as NodeJS.ErrnoException).code === 'ENOENT'
    ? new FleetError('SOURCE_MISSING', `there is no ${directory}`)
    : toFleetError(error, `reading ${directory}`);
