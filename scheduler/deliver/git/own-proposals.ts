import type { GitRepository } from '../../load/sources/git-cache.ts';
import { type Git, runGit, withRemote } from '../../load/sources/run-git.ts';
import { changeOf, isOurProposal } from './commit-words.ts';
import { bringCommit } from './read-branch.ts';

/** A branch with one of our proposals, and its head. */
export type OwnProposal = { readonly branch: string; readonly commit: string };

/** Maximum number of branches examined. */
const MAX_LOOKED_AT = 200;

/**
 * Finds branches that we created for `base` and to which no one has added commits. They are recognised by their head commits,
 * not by their names, because only our own branches may be deleted (unlike behaviour spec 3.2).
 */
export const ownProposals = async (
  plain: Git,
  repository: GitRepository,
  base: string,
): Promise<readonly OwnProposal[]> => {
  const git = withRemote(plain, repository.url);
  const own: OwnProposal[] = [];
  const heads = [...repository.refs].flatMap(([ref, commit]) => {
    const branch = ref.startsWith('refs/heads/') ? ref.slice('refs/heads/'.length) : '';
    const change = changeOf(branch);
    return change === undefined ? [] : [{ branch, change, commit }];
  });
  for (const { branch, change, commit } of heads.slice(0, MAX_LOOKED_AT)) {
    await bringCommit(plain, repository, commit);
    const shown = await runGit(git, ['--git-dir', repository.gitDirectory, 'cat-file', 'commit', commit]);
    if (shown.code === 0 && isOurProposal(shown.out, base, change)) own.push({ branch, commit });
  }
  return own;
};
