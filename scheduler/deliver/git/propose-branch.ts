import { FleetError } from '#bundles/errors';
import type { GitRepository } from '../../load/sources/git-cache.ts';
import { redactUrl } from '../../model/repository-url.ts';
import { proposalBranch, type CommitText } from './commit-text.ts';
import {
  type BranchDelivery,
  type BranchPlace,
  planDelivery,
  pushChanges,
  untilPushed,
} from './deliver-branch.ts';
import type { Forge, PullRequest } from './forge/forge.ts';
import { ownProposals } from './own-proposals.ts';
import type { Changes } from './plan-changes.ts';
import { pushBranch } from './push-branch.ts';

export type ProposalOutcome = {
  /** 'declined': the pull request of this change or promotion was closed without being merged. It is not opened again. */
  readonly outcome: 'proposed' | 'unchanged' | 'declined' | 'planned';
  readonly changes: Changes;
  /** The branch with the change, if there is one. */
  readonly proposal: string | undefined;
  readonly pullRequest: PullRequest | undefined;
  /** Branches of our earlier proposals for the same base, now closed and removed. */
  readonly superseded: readonly string[];
};

/** Label on pull requests that we closed. A closed one without it was declined by a person. */
const SUPERSEDED = 'superseded';

/**
 * Proposes a change for a branch: one commit on a separate branch named after the change, and a pull request if there is a forge.
 * Repeated runs propose the same change only once. The proposal of a promotion is named after the promotion: what changes
 * before it is merged is added to it, and after it was closed by a person nothing is proposed of the same candidate.
 * @throws FleetError SOURCE_MISSING, SOURCE_UNREACHABLE, GIT_REFUSED, FORGE_REFUSED, FORGE_UNREACHABLE, BUSY
 */
export const proposeBranch = (delivery: BranchDelivery, forge: Forge | undefined): Promise<ProposalOutcome> =>
  untilPushed(delivery, async (repository) => {
    const base = repository.refs.get(`refs/heads/${delivery.branch}`);
    if (base === undefined) throw noBase(delivery);
    const changes = await planDelivery(delivery, repository, base);
    const nothing = changes.written.length + changes.removed.length === 0;
    const { promotion } = delivery;
    if (delivery.dryRun) {
      const head = proposalBranch(promotion?.name ?? changes.name);
      return nothing ? outcome('unchanged', changes, undefined) : outcome('planned', changes, head);
    }
    const own = await ownProposals(delivery, repository);
    if (nothing)
      return {
        ...outcome('unchanged', changes, undefined),
        superseded: await supersede(delivery, repository, own, forge),
      };
    const { head, known, isPromotion } = await findProposal(delivery, changes, forge);
    if (known?.state === 'closed' && !known.labels.includes(SUPERSEDED))
      return { ...outcome('declined', changes, head), pullRequest: known };
    const words = delivery.words(changes, isPromotion);
    const there = repository.refs.get(`refs/heads/${head}`);
    const stale = own.some(({ branch, change }) => branch === head && change !== changes.name);
    const isCurrent = there !== undefined && !stale;
    if (!isCurrent) {
      const place = { onto: base, branch: head, expected: there, words };
      const pushed = await pushChanges(delivery, repository, changes, place);
      if (pushed === 'moved') return pushed;
    }
    const request = { known, words, head, base: delivery.branch, labels: delivery.labels(changes), stale };
    const opened = forge && (await ensureOpen(forge, request));
    const others = own.filter(({ branch }) => branch !== head);
    const superseded = await supersede(delivery, repository, others, forge);
    const isOpen = !forge || known?.state === 'open';
    const done = isCurrent && isOpen && superseded.length === 0;
    return { ...outcome(done ? 'unchanged' : 'proposed', changes, head), pullRequest: opened, superseded };
  });

/**
 * Closes all our proposals for a branch. @returns the branches that were removed
 * @throws FleetError SOURCE_UNREACHABLE, GIT_REFUSED, FORGE_REFUSED, FORGE_UNREACHABLE, BUSY
 */
export const withdrawProposals = (place: BranchPlace, forge: Forge | undefined): Promise<readonly string[]> =>
  untilPushed(place, async (repository) =>
    supersede(place, repository, await ownProposals(place, repository), forge),
  );

/** The branch to propose a change on, and the newest pull request from it. A promotion that was merged is over. */
const findProposal = async (
  { branch, promotion }: BranchDelivery,
  changes: Changes,
  forge: Forge | undefined,
): Promise<{
  readonly head: string;
  readonly known: PullRequest | undefined;
  readonly isPromotion: boolean;
}> => {
  if (promotion) {
    const head = proposalBranch(promotion.name);
    const known = await forge?.find(head, branch);
    if (known?.state !== 'merged') return { head, known, isPromotion: true };
  }
  const head = proposalBranch(changes.name);
  return { head, known: await forge?.find(head, branch), isPromotion: false };
};

const outcome = (
  word: ProposalOutcome['outcome'],
  changes: Changes,
  proposal: string | undefined,
): ProposalOutcome => ({ outcome: word, changes, proposal, pullRequest: undefined, superseded: [] });

type Request = {
  readonly known: PullRequest | undefined;
  readonly words: CommitText;
  readonly head: string;
  readonly base: string;
  readonly labels: readonly string[];
  /** Whether an open pull request has the words of an earlier change. */
  readonly stale: boolean;
};

/** Opens a pull request unless there is an open one, which gets the words of the change. Either has all labels then. */
const ensureOpen = async (
  forge: Forge,
  { known, words, head, base, labels, stale }: Request,
): Promise<PullRequest> => {
  const isOpen = known?.state === 'open';
  const opened = isOpen ? known : await forge.open({ head, base, ...words });
  if (stale && isOpen) await forge.edit(known.number, words);
  const missing = labels.filter((label) => !opened.labels.includes(label));
  if (missing.length > 0) await forge.addLabels(opened.number, missing);
  return opened;
};

/** Closes earlier proposals and removes their branches. A branch to which someone has added commits meanwhile is kept. */
const supersede = async (
  { git, branch: base }: BranchPlace,
  repository: GitRepository,
  others: Awaited<ReturnType<typeof ownProposals>>,
  forge: Forge | undefined,
): Promise<readonly string[]> => {
  const removed: string[] = [];
  for (const { branch, commit } of others) {
    const open = await forge?.find(branch, base);
    if (forge && open?.state === 'open') {
      await forge.addLabels(open.number, [SUPERSEDED]);
      await forge.close(open.number);
    }
    const pushed = await pushBranch(git, repository, { branch, commit: undefined, expected: commit });
    if (pushed === 'pushed') removed.push(branch);
  }
  return removed;
};

const noBase = ({ repo, branch }: BranchPlace): FleetError =>
  new FleetError('SOURCE_MISSING', `${redactUrl(repo)} has no branch ${branch} to propose a change for`, {
    subject: redactUrl(repo),
    hint: 'Publish to it once without --pull-request, or make it',
  });
