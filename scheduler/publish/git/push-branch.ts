import { FleetError } from '#bundles/errors';
import type { GitRepository } from '../../platform/sources/git-cache.ts';
import { redactUrl } from '../../platform/sources/repository-url.ts';
import { type Git, REMOTE, runGit, withRemote } from '../../platform/sources/run-git.ts';

/** One branch to move. */
export type Push = {
  readonly branch: string;
  /** What it shall be; undefined removes it. */
  readonly commit: string | undefined;
  /** What it must be now; undefined: it must not be there. */
  readonly expected: string | undefined;
};

/** Our own settings: neither a user's tags nor their submodules go along. */
const PLAIN = ['-c', 'push.followTags=false', '-c', 'push.recurseSubmodules=no', '-c', 'push.gpgSign=false'];

/** The server's words for a branch that is not where it was expected: somebody was faster. */
const MOVED =
  /stale info|fetch first|non-fast-forward|cannot lock ref|incorrect old value|failed to update ref|reference already exists/;

/**
 * Moves a branch if it is where it was expected, as one step at the server: nobody's commit is ever pushed away.
 * @returns 'moved' when somebody was faster
 * @throws FleetError GIT_REFUSED, SOURCE_UNREACHABLE
 */
export const pushBranch = async (
  plain: Git,
  repository: GitRepository,
  { branch, commit, expected }: Push,
): Promise<'pushed' | 'moved'> => {
  const ref = `refs/heads/${branch}`;
  const git = withRemote(plain, repository.url);
  const pushed = await runGit(git, [
    ...PLAIN,
    '--git-dir',
    repository.gitDirectory,
    'push',
    '--porcelain',
    '--no-verify',
    // A thin pack would want the old contents, which a partial clone does not have.
    '--no-thin',
    `--force-with-lease=${ref}:${expected ?? ''}`,
    REMOTE,
    `${commit ?? ''}:${ref}`,
  ]);
  if (pushed.code === 0) return 'pushed';
  const line = pushed.out.split('\n').find((one) => one.startsWith('!')) ?? '';
  if (MOVED.test(line)) return 'moved';
  const shown = redactUrl(repository.url);
  const reason = line.split('\t')[2];
  if (reason !== undefined) {
    throw new FleetError('GIT_REFUSED', `${shown} does not take ${branch}: ${reason}`, {
      subject: shown,
      hint: 'See whether the branch is protected; --pull-request proposes the change instead',
    });
  }
  throw new FleetError(
    'SOURCE_UNREACHABLE',
    `${shown} could not be written to: ${pushed.lastLine || 'git gave no reason'}`,
    {
      subject: shown,
      hint: 'Check the URL, the network, and that git’s credentials may write there',
    },
  );
};
