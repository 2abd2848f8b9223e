import { isFleetError } from '#bundles/errors';
import { cachedRepository } from './git-repository.ts';
import { type Git, runGit, withoutRepository } from './run-git.ts';

/** A commit as its repository says it. */
export type CommitAbout = {
  readonly commit: string;
  readonly author: string;
  /** ISO 8601. */
  readonly at: string;
  readonly title: string;
};

/**
 * Author, time and title of a commit from the cached repository, without a request.
 * @returns undefined if the cache does not have it, or the machine has no git @throws FleetError ABORTED, TOO_LARGE, DISK_FULL, IO
 */
export const readCommit = async (
  { repo, commit }: { readonly repo: string; readonly commit: string },
  { cacheDirectory, env, signal }: Git & { readonly cacheDirectory: string },
): Promise<CommitAbout | undefined> => {
  const { gitDirectory } = cachedRepository(repo, cacheDirectory);
  // A partial clone would ask its remote for a commit that it lacks.
  const git: Git = { env: { ...withoutRepository(env), GIT_NO_LAZY_FETCH: '1' }, signal };
  const asked = ['--git-dir', gitDirectory, 'show', '-s', '--format=%an%x00%aI%x00%s', commit, '--'];
  const found = await runGit(git, asked).catch((error: unknown) => {
    // A decision has to be possible at a hub without git: the commit is only shown.
    if (isFleetError(error, 'TOOL_MISSING')) return undefined;
    throw error;
  });
  if (found === undefined) return undefined;
  const { code, out } = found;
  const [author, at, title] = out.trim().split('\0');
  if (code !== 0 || author === undefined || at === undefined) return undefined;
  return { commit, author, at, title: title ?? '' };
};
