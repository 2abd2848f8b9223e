import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type FleetError, toFleetError } from '#bundles/errors';
import { type Bound, checkLimit, overLimit } from '../../model/limits.ts';
import { type GitRepository, unreachable } from './git-cache.ts';
import { blobsOf, type TreeEntry } from './list-commit.ts';
import { type Git, REMOTE, runGit } from './run-git.ts';

export type Blob = { readonly id: string; readonly path: string };

/** Allowance for a pack's headers and index, in bytes. */
const PACK_OVERHEAD = 4 << 20;

/** A tenant's folder: its files and links, and its limits. */
type Bounded = {
  readonly path: string;
  readonly bound: Bound | undefined;
  readonly entries: readonly TreeEntry[];
  readonly rules: readonly TreeEntry[];
};

/**
 * Checks the sizes of tenants' files after they were fetched, still compressed, and before any is unpacked: a pack of 2 MB may
 * hold 1.5 GB.
 * @returns the error of each folder over its limits: WORKSPACE_LIMIT. @throws FleetError SOURCE_UNREACHABLE
 */
export const checkSizes = async (
  git: Git,
  repository: GitRepository,
  folders: readonly Bounded[],
): Promise<ReadonlyMap<string, FleetError>> => {
  const refused = new Map<string, FleetError>();
  const bounded = folders.flatMap(({ path, bound, ...folder }) =>
    bound ? [{ path, bound, blobs: blobsOf(folder) }] : [],
  );
  const sizes = await sizesOf(
    git,
    repository,
    bounded.flatMap(({ blobs }) => blobs),
  );
  for (const { path, bound, blobs } of bounded) {
    try {
      checkLimits(bound, blobs, sizes);
    } catch (error) {
      refused.set(path, toFleetError(error, path));
    }
  }
  return refused;
};

const checkLimits = (bound: Bound, blobs: readonly Blob[], sizes: ReadonlyMap<string, number>): void => {
  let all = 0;
  for (const { id, path } of blobs) {
    const size = sizes.get(id) ?? 0;
    checkLimit(bound, 'fileBytes', size, path);
    all += size;
  }
  checkLimit(bound, 'assignmentBytes', all, 'all files');
};

/** @throws FleetError SOURCE_UNREACHABLE when the repository lacks the contents of a file */
const sizesOf = async (
  git: Git,
  repository: GitRepository,
  blobs: readonly Blob[],
): Promise<ReadonlyMap<string, number>> => {
  const asked = [...new Set(blobs.map(({ id }) => id))];
  if (asked.length === 0) return new Map();
  const at = ['--git-dir', repository.gitDirectory];
  const listed = await runGit(git, [...at, 'cat-file', '--batch-check=%(objectname) %(objectsize)'], {
    input: [Buffer.from(`${asked.join('\n')}\n`)],
  });
  if (listed.code !== 0) throw unreachable(repository.url, listed.lastLine);
  const sizes = new Map(
    listed.out.split('\n').map((line) => {
      const [id = '', size] = line.split(' ');
      return [id, Number(size)] as const;
    }),
  );
  for (const { id, path } of blobs)
    if (!(Number(sizes.get(id)) >= 0))
      throw unreachable(repository.url, `it does not give the contents of ${path}`);
  return sizes;
};

/**
 * Fetches all missing blobs with one request. @param bound limits for a tenant's files; without, what cannot be fetched is left to
 * the checkout. @throws FleetError with `bound`: WORKSPACE_LIMIT, SOURCE_UNREACHABLE
 */
export const fetchMissing = async (
  git: Git,
  repository: GitRepository,
  commit: string,
  blobs: readonly Blob[],
  bound?: Bound,
): Promise<void> => {
  const at = ['--git-dir', repository.gitDirectory];
  const listed = await runGit(git, [...at, 'rev-list', '--objects', '--missing=print', commit]);
  if (listed.code !== 0) throw unreachable(repository.url, listed.lastLine);
  const missing = new Set([...listed.out.matchAll(/^\?([0-9a-f]+)$/gm)].map(([, id]) => id));
  const wanted = [...new Set(blobs.map(({ id }) => id).filter((id) => missing.has(id)))];
  if (wanted.length === 0) return;
  const maxFileBytes = bound && bound.limits.assignmentBytes + PACK_OVERHEAD;
  // Kept as a pack, with large blobs streamed into it: they are unpacked neither on disk nor in memory.
  const settings = ['fetch.negotiationAlgorithm=noop', 'fetch.unpackLimit=1', 'core.bigFileThreshold=16m'];
  const fetched = await runGit(
    git,
    [
      ...settings.flatMap((one) => ['-c', one]),
      ...at,
      'fetch',
      '--quiet',
      '--no-tags',
      '--no-write-fetch-head',
      '--recurse-submodules=no',
      '--filter=blob:none',
      '--stdin',
      REMOTE,
    ],
    { input: [Buffer.from(`${wanted.join('\n')}\n`)], maxFileBytes },
  );
  if (fetched.code === 0 || maxFileBytes === undefined) return;
  if ((await dropUnfinished(repository)) >= maxFileBytes)
    throw overLimit(bound as Bound, 'assignmentBytes', undefined, 'all files');
  throw unreachable(repository.url, fetched.lastLine);
};

/** Deletes packs of a failed fetch. @returns the size of the largest, in bytes */
const dropUnfinished = async ({ gitDirectory }: GitRepository): Promise<number> => {
  let largest = 0;
  for (const { name, size } of await packsOf(gitDirectory)) {
    if (!name.startsWith('tmp_')) continue;
    largest = Math.max(largest, size);
    await rm(join(gitDirectory, 'objects/pack', name), { force: true });
  }
  return largest;
};

/** Upper bound on a cached repository between runs, as a multiple of `assignmentBytes`. */
const KEPT = 4;

/** Deletes a tenant's cached repository when it exceeds its bound; it can be fetched again. */
export const dropOversized = async ({ gitDirectory }: GitRepository, { limits }: Bound): Promise<void> => {
  const size = (await packsOf(gitDirectory)).reduce((sum, pack) => sum + pack.size, 0);
  if (size > KEPT * limits.assignmentBytes) await rm(gitDirectory, { recursive: true, force: true });
};

const packsOf = async (gitDirectory: string) => {
  const folder = join(gitDirectory, 'objects/pack');
  const names = await readdir(folder).catch(() => []);
  return await Promise.all(
    names.map(async (name) => ({
      name,
      size: (await stat(join(folder, name)).catch(() => undefined))?.size ?? 0,
    })),
  );
};
