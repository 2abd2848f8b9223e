import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { compareBytes, digestOf } from '#bundles/digest';
import { FleetError, toFleetError } from '#bundles/errors';
import { inParallel } from '#bundles/in-parallel';
import { openRepository, resolveRevision } from '../../load/sources/git-repository.ts';
import type { Location } from '../../model/location.ts';
import { repositoryKey } from '../../model/repository-url.ts';
import { withoutRepository } from '../../load/sources/run-git.ts';
import { keyOf } from './watched.ts';

export type LookOptions = {
  readonly cacheDirectory: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
};

/** The current mark of a source, or why it cannot be read. */
export type Seen = { readonly mark: string } | { readonly error: FleetError };

/** Sources checked in parallel. Each repository starts a git process. */
const WIDTH = 8;

/**
 * Checks the state of every source without fetching: one `git ls-remote` per repository for all its branches, and names, sizes
 * and times of the files of a directory.
 * @returns by keyOf
 * @throws FleetError ABORTED, TOOL_MISSING, INTERNAL
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
    const known = toReported(error);
    return group.map((location) => [keyOf(location), { error: known }]);
  }
};

const orError = (read: () => string): Seen => {
  try {
    return { mark: read() };
  } catch (error) {
    return { error: toReported(error) };
  }
};

/** Errors that are not about one source are thrown. */
const toReported = (error: unknown): FleetError => {
  const known = toFleetError(error, 'looking at a source');
  if (['ABORTED', 'TOOL_MISSING', 'INTERNAL'].includes(known.code)) throw known;
  return known;
};

const MAX_FILES = 200_000;

/** Digest over names, sizes, times and modes of all files. Contents are not read. @throws FleetError SOURCE_MISSING, TOO_MANY */
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
        // A file deleted meanwhile is a change that the next look detects.
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
