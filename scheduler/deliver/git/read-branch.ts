import { FleetError } from '#bundles/errors';
import {
  dropStaleRepository,
  fetchCommits,
  type GitRepository,
  markDelivery,
  prepare,
  withCache,
} from '../../load/sources/git-cache.ts';
import { redactUrl } from '../../model/repository-url.ts';
import { type Git, runGit, withRemote } from '../../load/sources/run-git.ts';

/** A file of a commit: its mode as git writes it ('100644') and its blob's id. */
export type BranchFile = { readonly mode: string; readonly id: string };

/** Files by path. Git paths are bytes; here each byte is one character (latin1), so that every path can be represented. */
export type BranchFiles = ReadonlyMap<string, BranchFile>;

/** Converts one of our paths to the form in BranchFiles. */
export const toGitPath = (path: string): string => Buffer.from(path, 'utf8').toString('latin1');

/**
 * Reads the paths and blob ids of all files of a commit, without fetching their contents.
 * @throws FleetError SOURCE_UNREACHABLE, SOURCE_MISSING
 */
export const readBranch = async (
  plain: Git,
  repository: GitRepository,
  commit: string,
): Promise<BranchFiles> => {
  await fetchCommitInto(plain, repository, commit);
  const args = ['--git-dir', repository.gitDirectory, 'ls-tree', '-r', '-z', '--full-tree', commit];
  const listed = await runGit(withRemote(plain, repository.url), args, { encoding: 'latin1' });
  if (listed.code !== 0)
    throw new FleetError('SOURCE_UNREACHABLE', `${redactUrl(repository.url)}: ${listed.lastLine}`);
  const files = new Map<string, BranchFile>();
  for (const entry of listed.out.split('\0')) {
    const tab = entry.indexOf('\t');
    const [mode = '', , id = ''] = entry.slice(0, tab).split(' ');
    if (tab !== -1) files.set(entry.slice(tab + 1), { mode, id });
  }
  return files;
};

/** Fetches a commit and its trees into the cache if needed. @throws FleetError SOURCE_UNREACHABLE, SOURCE_MISSING */
export const fetchCommitInto = (plain: Git, repository: GitRepository, commit: string): Promise<void> =>
  fetchCommitsInto(plain, repository, [commit]);

/** The same for several commits, in one request. */
export const fetchCommitsInto = async (
  plain: Git,
  repository: GitRepository,
  commits: readonly string[],
): Promise<void> => {
  const git = withRemote(plain, repository.url);
  await withCache(git, repository, async () => {
    await dropStaleRepository(repository.gitDirectory, new Date());
    await prepare(git, repository);
    await markDelivery(repository);
    await fetchCommits(git, repository, commits);
  });
};
