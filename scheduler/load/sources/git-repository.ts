import { createHash, randomUUID } from 'node:crypto';
import { readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { FleetError } from '#bundles/errors';
import { makeDirectory } from '#bundles/formats/layout/make-directory';
import { nameSome } from '#bundles/name-some';
import type { Bound } from '../../model/limits.ts';
import { exists, markUsed } from './cache-use.ts';
import { checkCache } from './check-cache.ts';
import {
  dropWorn,
  fetchCommit,
  type GitRepository,
  keep,
  prepare,
  unreachable,
  withCache,
} from './git-cache.ts';
import { checkBlobs, dropOvergrown, fetchMissing } from './check-blobs.ts';
import { checkRef, isCommit, type Revision } from '../../model/location.ts';
import { pruneTrees } from './prune-cache.ts';
import { redactUrl, repositoryKey } from '../../model/repository-url.ts';
import { type Git, REMOTE, runGit, withRemote } from './run-git.ts';

/**
 * Reads all refs with one request, so that all branches of a run are from the same moment.
 * @throws FleetError SOURCE_UNREACHABLE; PERMISSION for a cache that others can write to
 */
export const openRepository = async (
  git: Git,
  url: string,
  cacheDirectory: string,
): Promise<GitRepository> => {
  await checkCache(cacheDirectory);
  const listed = await runGit(withRemote(git, url), ['ls-remote', '--quiet', REMOTE]);
  if (listed.code !== 0) throw unreachable(url, listed.lastLine);
  const refs = new Map<string, string>();
  for (const line of listed.out.split('\n')) {
    const [commit, name] = line.split('\t');
    if (commit && name) refs.set(name, commit);
  }
  return { ...cachedRepository(url, cacheDirectory), refs };
};

/** A cached repository, without a request and without refs. */
export const cachedRepository = (url: string, cacheDirectory: string): GitRepository => {
  const key = createHash('sha256').update(repositoryKey(url)).digest('hex').slice(0, 32);
  return { url, refs: new Map(), gitDirectory: join(cacheDirectory, `${key}.git`), cacheDirectory };
};

/** The branch that the repository's HEAD points to. @throws FleetError SOURCE_UNREACHABLE */
export const defaultBranch = async (git: Git, url: string): Promise<string | undefined> => {
  const listed = await runGit(withRemote(git, url), ['ls-remote', '--quiet', '--symref', REMOTE, 'HEAD']);
  if (listed.code !== 0) throw unreachable(url, listed.lastLine);
  return /^ref: refs\/heads\/(.*)\tHEAD$/m.exec(listed.out)?.[1];
};

/** @throws FleetError SOURCE_MISSING for an unknown branch or tag, FIELD_INVALID for an invalid name */
export const resolveRevision = (repository: GitRepository, revision: Revision): string => {
  const { refs, url } = repository;
  switch (revision.kind) {
    case 'head': {
      const commit = refs.get('HEAD');
      if (commit !== undefined) return commit;
      throw new FleetError(
        'SOURCE_MISSING',
        refs.size === 0
          ? `${redactUrl(url)} is empty: nothing was ever pushed to it`
          : `${redactUrl(url)} has no default branch`,
        {
          subject: redactUrl(url),
          hint: refs.size === 0 ? 'Check the URL, or push to it first' : 'Name one with #branch',
        },
      );
    }
    case 'branch':
    case 'any': {
      const name = checkRef(revision.name, 'FIELD_INVALID');
      const branch = refs.get(`refs/heads/${name}`);
      if (branch !== undefined) return branch;
      const tag = refs.get(`refs/tags/${name}^{}`) ?? refs.get(`refs/tags/${name}`);
      if (revision.kind === 'any' && tag !== undefined) return tag;
      if (revision.kind === 'any' && isCommit(name)) return name;
      throw new FleetError('SOURCE_MISSING', `${redactUrl(url)} has no branch ${name}`, {
        subject: redactUrl(url),
        hint: ABBREVIATED.test(name)
          ? 'A commit is named by all of its 40 (or 64) digits: a short name may come to mean another'
          : branchHint(refs),
      });
    }
    case 'commit':
      return revision.commit;
  }
};

const ABBREVIATED = /^[0-9a-f]{7,63}$/;

const branchHint = (refs: ReadonlyMap<string, string>): string => {
  const names = [...refs.keys()].filter((ref) => ref.startsWith('refs/heads/')).map((ref) => ref.slice(11));
  return names.length === 0 ? 'It has no branches at all' : `It has ${nameSome(names)}`;
};

/**
 * Checks out one folder of one commit and returns the root of the checkout. It is fetched shallow, without the contents of
 * other folders, and cached by commit, so that a second run needs no network.
 * @throws FleetError SOURCE_UNREACHABLE, SOURCE_MISSING, WORKSPACE_LIMIT
 */
export const checkOut = async (plain: Git, repository: GitRepository, wanted: Wanted): Promise<string> => {
  const { commit, path, bound } = wanted;
  const folder = createHash('sha256').update(path).digest('hex').slice(0, 12);
  // The key includes the repository, so that naming a commit gives no access to another repository's files.
  const key = basename(repository.gitDirectory, '.git');
  const trees = join(repository.cacheDirectory, 'trees');
  const target = join(trees, `${key}-${commit}-${folder}`);
  const isThere = () => markUsed(repository.cacheDirectory, target);
  if (await isThere()) return target;
  const git = withRemote(plain, repository.url);
  await withCache(git, repository, async () => {
    if (await isThere()) return;
    if (bound) await dropOvergrown(repository, bound);
    await dropWorn(repository.gitDirectory, new Date());
    await prepare(git, repository);
    await fetchCommit(git, repository, commit);
    const draft = `${target}.${randomUUID()}`;
    await makeDirectory(draft);
    try {
      const submodules = await populate(git, repository, wanted, draft);
      if (submodules.length > 0) await writeFile(`${target}.submodules`, JSON.stringify(submodules));
      await keep(draft, target);
      const isOfFolder = (name: string): boolean => name.startsWith(`${key}-`) && name.endsWith(`-${folder}`);
      await pruneTrees(repository.cacheDirectory, isOfFolder);
    } finally {
      await rm(draft, { recursive: true, force: true });
      await rm(`${draft}.index`, { force: true });
    }
  });
  return target;
};

export type Wanted = {
  readonly commit: string;
  /** A folder of the repository, or '.'. */
  readonly path: string;
  /** Limits, for a tenant's files. */
  readonly bound: Bound | undefined;
};

/** Submodules in a folder that checkOut returned. They stay empty, because the platform does not name their repositories. */
export const submodulesIn = async (tree: string): Promise<readonly string[]> => {
  const text = await readFile(`${tree}.submodules`, 'utf8').catch(() => '[]');
  return JSON.parse(text) as readonly string[];
};

/** @returns the submodules that were skipped */
const populate = async (
  git: Git,
  repository: GitRepository,
  { commit, path, bound }: Wanted,
  draft: string,
): Promise<readonly string[]> => {
  const at = ['--git-dir', repository.gitDirectory];
  const listed = await runGit(git, [...at, 'ls-tree', '-r', '-z', '--full-tree', commit]);
  if (listed.code !== 0) throw unreachable(repository.url, listed.lastLine);
  const entries = listed.out.split('\0').map((entry) => ({
    mode: entry.slice(0, 6),
    // '100644 blob <id>\t<path>'
    id: entry.slice(12, entry.indexOf('\t')),
    path: entry.slice(entry.indexOf('\t') + 1),
  }));
  const withIndex = { ...git, env: { ...git.env, GIT_INDEX_FILE: `${draft}.index` } };
  const take = async (scope: string): Promise<void> => {
    const command = [...at, '--work-tree', draft, 'checkout', '--quiet', commit, '--', scope];
    const taken = await runGit(withIndex, command);
    if (taken.code !== 0) throw unreachable(repository.url, taken.lastLine);
  };
  const inside = (entry: { path: string }) =>
    path === '.' || entry.path === path || entry.path.startsWith(`${path}/`);
  // The .sourceignore files of the root and the parent folders apply to this folder too.
  const isRules = (entry: { path: string }) => /(?:^|\/)\.sourceignore$/.test(entry.path);
  const blobs = entries.filter((entry) => entry.mode.startsWith('1') && entry.mode !== '160000');
  const taken = blobs.filter((entry) => inside(entry) || isRules(entry));
  // Git would fetch each file alone.
  if (bound) await checkBlobs(git, repository, commit, taken, bound);
  else await fetchMissing(git, repository, commit, taken);
  if (entries.some(inside)) await take(path === '.' ? '.' : `:(top,literal)${path}`);
  if (path !== '.' && entries.some(isRules)) await take(':(top,glob)**/.sourceignore');
  // Links are not followed (read-files.ts). Checking out without symlinks leaves text files in their place; each becomes a link to
  // itself, which nothing can follow and which is reported.
  for (const entry of entries) {
    const file = join(draft, entry.path);
    if (entry.mode !== '120000' || !(await exists(file))) continue;
    await rm(file);
    await symlink(basename(entry.path), file);
  }
  return entries.filter((entry) => entry.mode === '160000' && inside(entry)).map((entry) => entry.path);
};
