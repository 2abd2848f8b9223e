import type { GitRepository } from '../../platform/sources/git-cache.ts';
import { type Git, runGit, withRemote } from '../../platform/sources/run-git.ts';
import { changeOf, isOurProposal } from './commit-words.ts';
import { bringCommit } from './read-branch.ts';

/** A branch of ours that proposes a change, with its head. */
export type OwnProposal = { readonly branch: string; readonly commit: string };

/** A repository with more branches of this form has another problem. */
const MAX_LOOKED_AT = 200;

/**
 * Branches that we made for `base`, and that nobody has added to. Told by their heads, not by their names: what is deleted
 * must be ours (unlike behaviour spec 3.2).
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
