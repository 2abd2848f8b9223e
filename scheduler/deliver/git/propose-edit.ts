import { FleetError } from '#bundles/errors';
import { redactUrl } from '../../model/repository-url.ts';
import { type BranchDelivery, planDelivery, pushChanges, untilPushed } from './deliver-branch.ts';
import type { Forge, PullRequest } from './forge/forge.ts';
import type { Changes } from './plan-changes.ts';

/** Branches of proposed edits begin with it. */
export const EDIT_BRANCH = 'fleet-ferry/edit-';

/** Name of the branch for the proposal of one person's edit. */
const editBranch = (name: string): string => `${EDIT_BRANCH}${name}`;

export type EditProposal = {
  readonly outcome: 'proposed' | 'unchanged' | 'planned';
  readonly changes: Changes;
  readonly proposal: string | undefined;
  readonly pullRequest: PullRequest | undefined;
};

/**
 * Proposes a person's edit: one commit on a branch of its own, and a pull request if there is a forge. Unlike proposals of rendered
 * trees it replaces no other: several people may have proposals open. The same edit is proposed once.
 * @throws FleetError SOURCE_MISSING, SOURCE_UNREACHABLE, GIT_REFUSED, FORGE_REFUSED, FORGE_UNREACHABLE, BUSY; what `plan` throws
 */
export const proposeEdit = (delivery: BranchDelivery, forge: Forge | undefined): Promise<EditProposal> =>
  untilPushed(delivery, async (repository) => {
    const { branch, repo } = delivery;
    const base = repository.refs.get(`refs/heads/${branch}`);
    if (base === undefined)
      throw new FleetError('SOURCE_MISSING', `${redactUrl(repo)} has no branch ${branch}`, {
        subject: redactUrl(repo),
        hint: 'Commit to it directly once, which makes it',
      });
    const changes = await planDelivery(delivery, repository, base);
    const nothing = { changes, proposal: undefined, pullRequest: undefined };
    if (changes.written.length + changes.removed.length === 0) return { outcome: 'unchanged', ...nothing };
    const head = editBranch(changes.name);
    if (delivery.dryRun) return { outcome: 'planned', ...nothing, proposal: head };
    const words = delivery.words(changes, false);
    const there = repository.refs.get(`refs/heads/${head}`);
    const known = await forge?.find(head, branch);
    // A merged or declined proposal of the same name is over: the branch begins again at the newest commit.
    const isFresh = there === undefined || (known !== undefined && known.state !== 'open');
    if (isFresh) {
      const pushed = await pushChanges(delivery, repository, changes, {
        onto: base,
        branch: head,
        expected: there,
        words,
      });
      if (pushed === 'moved') return pushed;
    }
    const isOpen = known?.state === 'open';
    const pullRequest = forge && (isOpen ? known : await forge.open({ head, base: branch, ...words }));
    return {
      outcome: isFresh || (forge && !isOpen) ? 'proposed' : 'unchanged',
      changes,
      proposal: head,
      pullRequest,
    };
  });
