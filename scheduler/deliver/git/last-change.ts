import { cachedRepository } from '../../load/sources/git-repository.ts';
import { REMOTE, runGit, withRemote } from '../../load/sources/run-git.ts';
import type { BranchPlace } from './deliver-branch.ts';
import { openScratch } from './open-scratch.ts';

/** The newest commit that changed a file. */
export type LastChange = {
  readonly commit: string;
  readonly author: string;
  /** ISO 8601. */
  readonly at: string;
  readonly title: string;
};

/** How many commits are looked at. */
const DEPTH = 100;

/**
 * The newest commit of a branch that changed a file. @returns undefined if none of the newest 100 commits did
 * or the branch cannot be read
 * @throws FleetError ABORTED
 */
export const lastChange = async (
  { git, repo, branch, cacheDirectory }: Pick<BranchPlace, 'git' | 'repo' | 'branch' | 'cacheDirectory'>,
  file: string,
): Promise<LastChange | undefined> => {
  await using scratch = await openScratch(git, cachedRepository(repo, cacheDirectory), undefined);
  const remote = withRemote(git, repo);
  const at = ['--git-dir', scratch.gitDirectory];
  const fetched = await runGit(remote, [
    ...at,
    'fetch',
    '--quiet',
    '--no-tags',
    `--depth=${DEPTH}`,
    '--filter=blob:none',
    REMOTE,
    `refs/heads/${branch}`,
  ]);
  if (fetched.code !== 0) return undefined;
  const format = '--format=%H%x00%an%x00%aI%x00%s';
  const shown = await runGit(remote, [...at, 'log', '-1', format, 'FETCH_HEAD', '--', `:(literal)${file}`]);
  const [commit, author, when, title] = shown.out.trim().split('\0');
  if (shown.code !== 0 || !commit || author === undefined || when === undefined) return undefined;
  return { commit, author, at: when, title: title ?? '' };
};
