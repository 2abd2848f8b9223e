import { FleetError } from '#bundles/errors';
import type { GitRepository } from '../../load/sources/git-cache.ts';
import { redactUrl } from '../../model/repository-url.ts';
import { type Git, REMOTE, runGit, withRemote } from '../../load/sources/run-git.ts';

/** The update of one branch. */
export type Push = {
  readonly branch: string;
  /** The new head; undefined removes the branch. */
  readonly commit: string | undefined;
  /** The expected current head; undefined: the branch must not exist. */
  readonly expected: string | undefined;
};

/** Overrides user settings, so that no tags or submodules are pushed and no signature is requested. */
export const PLAIN = [
  '-c',
  'push.followTags=false',
  '-c',
  'push.recurseSubmodules=no',
  '-c',
  'push.gpgSign=false',
];

/** Messages of servers for a branch that is not at the expected head. */
const MOVED =
  /stale info|fetch first|non-fast-forward|cannot lock ref|incorrect old value|failed to update ref|reference already exists/;

/**
 * Updates a branch if it is at the expected head, in one atomic step at the server, so that no commit of others is lost.
 * @returns 'moved' if the branch was not at the expected head
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
    throw new FleetError('GIT_REFUSED', `${shown} refuses ${branch}: ${reason}`, {
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
