import type { GitRepository } from '../../load/sources/git-cache.ts';
import { runGit, withRemote } from '../../load/sources/run-git.ts';
import { changeOf, proposedChange } from './commit-text.ts';
import type { BranchPlace } from './deliver-branch.ts';
import { fetchCommitInto } from './read-branch.ts';

/** A branch with one of our proposals, and its head. */
export type OwnProposal = {
  readonly branch: string;
  readonly commit: string;
  /** Name of the change that it proposes. */
  readonly change: string;
};

/** Maximum number of branches examined. */
const MAX_EXAMINED = 200;

/**
 * Finds branches that we created for `base` and to which no one has added commits. They are recognised by their head commits,
 * not by their names, because only our own branches may be deleted (unlike behaviour spec 3.2).
 */
export const ownProposals = async (
  { git: plain, branch: base, identity }: Pick<BranchPlace, 'git' | 'branch' | 'identity'>,
  repository: GitRepository,
): Promise<readonly OwnProposal[]> => {
  const git = withRemote(plain, repository.url);
  const own: OwnProposal[] = [];
  const heads = [...repository.refs].flatMap(([ref, commit]) => {
    const branch = ref.startsWith('refs/heads/') ? ref.slice('refs/heads/'.length) : '';
    const name = changeOf(branch);
    return name === undefined ? [] : [{ branch, name, commit }];
  });
  for (const { branch, name, commit } of heads.slice(0, MAX_EXAMINED)) {
    await fetchCommitInto(plain, repository, commit);
    const shown = await runGit(git, ['--git-dir', repository.gitDirectory, 'cat-file', 'commit', commit]);
    const change = shown.code === 0 ? proposedChange(shown.out, base, name, identity.committer) : undefined;
    if (change !== undefined) own.push({ branch, commit, change });
  }
  return own;
};
