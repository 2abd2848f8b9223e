import { randomUUID } from 'node:crypto';
import { appendFile, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { FleetError, toFleetError } from '#bundles/errors';
import { createDirectory } from '#bundles/formats/layout/create-directory';
import { DAY_MS } from '#bundles/time';
import { tryExclusiveLock } from '#cli/exclusive-lock';
import { redactUrl } from '../../model/repository-url.ts';
import { exists } from './cache-use.ts';
import { type Git, REMOTE, runGit } from './run-git.ts';

/** A repository's refs at one moment, and the bare repository that caches its objects. */
export type GitRepository = {
  readonly url: string;
  readonly refs: ReadonlyMap<string, string>;
  /** The bare repository in the cache. */
  readonly gitDirectory: string;
  readonly cacheDirectory: string;
};

/** How long to wait for another process that is using the same cached repository. */
const LOCK_TIMEOUT_MS = 600_000;
const PAUSE_MS = 50;
/** An older lock file of git's was left by a killed process: the exclusive lock keeps live ones out. */
const STALE_LOCK_MS = 120_000;

/**
 * Runs `work` with an exclusive lock on a repository's cache, across processes: concurrent fetches into a shallow repository
 * fail on each other's lock files.
 * @throws FleetError BUSY, ABORTED
 */
export const withCache = async <T>(
  git: Git,
  repository: GitRepository,
  work: () => Promise<T>,
): Promise<T> => {
  await createDirectory(repository.cacheDirectory);
  const file = `${repository.gitDirectory}.lock`;
  const until = performance.now() + LOCK_TIMEOUT_MS;
  let lock = takeLock(file);
  while (!lock) {
    if (performance.now() > until) {
      throw new FleetError(
        'BUSY',
        `another process has been reading ${redactUrl(repository.url)} for too long`,
        {
          subject: repository.cacheDirectory,
          hint: 'Check that process, or use another --cache for this one',
        },
      );
    }
    await sleep(PAUSE_MS, undefined, git.signal && { signal: git.signal }).catch((error: unknown) => {
      throw toFleetError(error, `waiting for ${redactUrl(repository.url)}`);
    });
    lock = takeLock(file);
  }
  using _held = lock;
  await removeLeftLock(join(repository.gitDirectory, 'shallow.lock'));
  return await work();
};

const takeLock = (file: string): Disposable | undefined => {
  try {
    return tryExclusiveLock(file);
  } catch (error) {
    throw toFleetError(error, `locking ${file}`);
  }
};

const removeLeftLock = async (file: string): Promise<void> => {
  const found = await stat(file).catch(() => undefined);
  // Also one from a clock that was ahead and has been set back since.
  if (found && Math.abs(Date.now() - found.mtimeMs) > STALE_LOCK_MS) await rm(file, { force: true });
};

/** Disables attributes that would change bytes on checkout, for every file. */
const RAW_BYTES = '* -text -filter -ident -working-tree-encoding -export-subst\n';

/** The promisor remote for contents that a partial fetch left out; each command sets its URL. */
const PARTIAL = `[core]\n\trepositoryFormatVersion = 1\n[extensions]\n\tpartialClone = ${REMOTE}\n`;

/** Creates the cached bare repository if it does not exist. */
export const prepare = async (git: Git, repository: GitRepository): Promise<void> => {
  if (await exists(repository.gitDirectory)) return;
  const draft = `${repository.gitDirectory}.${randomUUID()}`;
  await createDirectory(repository.cacheDirectory);
  try {
    const made = await runGit(git, ['init', '--quiet', '--bare', '--template=', draft]);
    if (made.code !== 0) throw new FleetError('IO', `the cache could not be created: ${made.lastLine}`);
    await mkdir(join(draft, 'info'), { recursive: true });
    await writeFile(join(draft, 'info', 'attributes'), RAW_BYTES);
    await appendFile(join(draft, 'config'), PARTIAL);
    await keep(draft, repository.gitDirectory);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
};

/** How many fetched commits a cached repository names. One that is no longer named is fetched again. */
const FETCHED = 1024;

/**
 * Fetches one commit and its trees, without blobs, into the cache, where it is not there yet. Needs the lock of withCache.
 * @throws FleetError SOURCE_UNREACHABLE, SOURCE_MISSING
 */
export const fetchCommit = (git: Git, repository: GitRepository, commit: string): Promise<void> =>
  fetchCommits(git, repository, [commit]);

/** The same for several commits, in one request. */
export const fetchCommits = async (
  git: Git,
  repository: GitRepository,
  commits: readonly string[],
): Promise<void> => {
  // A list of our own: in a partial clone git would fetch a missing commit to say whether it is there.
  const file = join(repository.gitDirectory, 'fetched');
  const fetched = (await readFile(file, 'utf8').catch(() => '')).split('\n');
  const known = new Set(fetched);
  const missing = commits.filter((commit) => !known.has(commit));
  if (missing.length === 0) return;
  await requestCommits(git, repository, missing);
  await writeFile(file, [...missing, ...fetched].slice(0, FETCHED).join('\n'));
};

const requestCommits = async (
  git: Git,
  repository: GitRepository,
  commits: readonly string[],
): Promise<void> => {
  const at = ['--git-dir', repository.gitDirectory];
  const fetch = [...at, 'fetch', '--quiet', '--no-tags', '--no-write-fetch-head', '--filter=blob:none'];
  const one = await runGit(git, [...fetch, '--depth=1', REMOTE, ...commits]);
  if (one.code === 0) return;
  // Old servers only send commits that a ref points at: then all refs are fetched with their history, and the commits must be among them.
  // --prune first removes refs that the server no longer has: Git cannot create a branch 'a/b' beside a branch 'a'.
  const all = await runGit(git, [
    ...fetch,
    '--prune',
    ...((await exists(join(repository.gitDirectory, 'shallow'))) ? ['--unshallow'] : []),
    REMOTE,
    '+refs/heads/*:refs/heads/*',
    '+refs/tags/*:refs/tags/*',
  ]);
  if (all.code !== 0) throw unreachable(repository.url, all.lastLine);
  for (const commit of commits) {
    const known = await runGit(git, [...at, 'cat-file', '-e', `${commit}^{commit}`]);
    if (known.code !== 0)
      throw new FleetError('SOURCE_MISSING', `${redactUrl(repository.url)} has no commit ${commit}`, {
        subject: redactUrl(repository.url),
        hint: `Push it again under a branch or tag, or name one that is there; if a promoted candidate names it, promote another one (git said: ${one.lastLine})`,
      });
  }
};

/** Limits of a cached repository, in which Git keeps every commit that it ever fetched: time since the first, and packs. */
const OLD_MS = 30 * DAY_MS;
const PACKS = 100;
/** A delivery reads the cached repository of a branch for this long, without its lock. */
const DELIVERY_MS = 600_000;
const DELIVERY = 'delivered';

/** Records that a delivery reads a repository. Needs the lock of withCache. */
export const markDelivery = ({ gitDirectory }: GitRepository): Promise<void> =>
  writeFile(join(gitDirectory, DELIVERY), '');

/**
 * Deletes a cached repository that is old or has many packs, and that no delivery reads. The next fetch brings the newest commit alone.
 * Needs the lock of withCache.
 */
export const dropStaleRepository = async (gitDirectory: string, now: Date): Promise<void> => {
  const ageOf = async (file: string): Promise<number> => {
    const found = await stat(join(gitDirectory, file)).catch(() => undefined);
    return found ? Math.abs(now.getTime() - found.mtimeMs) : Number.NaN;
  };
  // Git writes HEAD when it creates the repository.
  const isWorn = (await ageOf('HEAD')) >= OLD_MS || (await countPacks(gitDirectory)) > PACKS;
  if (!isWorn || (await ageOf(DELIVERY)) < DELIVERY_MS) return;
  await rm(gitDirectory, { recursive: true, force: true });
};

const countPacks = async (gitDirectory: string): Promise<number> =>
  (await readdir(join(gitDirectory, 'objects/pack')).catch(() => [])).filter((name) => name.endsWith('.pack'))
    .length;

/** As dropStaleRepository, unless another process uses the repository. */
export const tryDropStaleRepository = async (gitDirectory: string, now: Date): Promise<void> => {
  using lock = takeLock(`${gitDirectory}.lock`);
  if (lock) await dropStaleRepository(gitDirectory, now);
};

/** Renames a finished draft to its target. If another run was faster, its result is equal and stays. */
export const keep = async (draft: string, target: string): Promise<void> => {
  try {
    await rename(draft, target);
  } catch (error) {
    if (!(await exists(target))) throw error;
  }
};

export const unreachable = (url: string, reason: string): FleetError =>
  new FleetError(
    'SOURCE_UNREACHABLE',
    `${redactUrl(url)} could not be read: ${reason || 'git gave no reason'}`,
    {
      subject: redactUrl(url),
      hint: 'Check the URL, the network and git’s credentials, or read it from a directory with --map',
    },
  );
