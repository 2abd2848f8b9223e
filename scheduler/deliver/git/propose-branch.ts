import { FleetError } from '#bundles/errors';
import type { GitRepository } from '../../load/sources/git-cache.ts';
import { redactUrl } from '../../model/repository-url.ts';
import { TRACKING_FILE } from '../../render/render-tree.ts';
import { bodyOf, proposalBranch, titleOf } from './commit-words.ts';
import { type BranchDelivery, planDelivery, pushChanges, untilPushed } from './deliver-branch.ts';
import type { Forge, PullRequest } from './forge/forge.ts';
import { ownProposals } from './own-proposals.ts';
import type { Changes } from './plan-changes.ts';
import { pushBranch } from './push-branch.ts';

export type ProposalOutcome = {
  /** 'declined': the pull request of this change was closed without being merged. It is not opened again. */
  readonly outcome: 'proposed' | 'unchanged' | 'declined' | 'planned';
  readonly changes: Changes;
  /** The branch with the change, if there is one. */
  readonly proposal: string | undefined;
  readonly pullRequest: PullRequest | undefined;
  /** Branches of our earlier proposals for the same base, now closed and removed. */
  readonly superseded: readonly string[];
};

/** The label that Kalypso's workflows look for on pull requests with a promoted commit. */
const PROMOTED = 'promoted';

/** Label on pull requests that we closed. A closed one without it was declined by a person. */
const SUPERSEDED = 'superseded';

/**
 * Proposes a tree for a branch: one commit on a separate branch named after the change, and a pull request if there is a forge.
 * Repeated runs propose the same change only once.
 * @throws FleetError SOURCE_MISSING, SOURCE_UNREACHABLE, GIT_REFUSED, FORGE_REFUSED, FORGE_UNREACHABLE, BUSY
 */
export const proposeBranch = (delivery: BranchDelivery, forge: Forge | undefined): Promise<ProposalOutcome> =>
  untilPushed(delivery, async (repository) => {
    const base = repository.refs.get(`refs/heads/${delivery.branch}`);
    if (base === undefined) throw noBase(delivery);
    const changes = await planDelivery(delivery, repository, base);
    const head = proposalBranch(changes.name);
    const nothing = changes.written.length + changes.removed.length === 0;
    if (nothing && delivery.dryRun) return outcome('unchanged', changes, undefined);
    if (delivery.dryRun) return outcome('planned', changes, head);
    const own = await ownProposals(delivery.git, repository, delivery.branch);
    const others = own.filter(({ branch }) => branch !== head || nothing);
    const clear = (): Promise<readonly string[]> => supersede(delivery, repository, others, forge);
    if (nothing) return { ...outcome('unchanged', changes, undefined), superseded: await clear() };
    const known = await forge?.find(head, delivery.branch);
    if (known?.state === 'closed' && !known.labels.includes(SUPERSEDED))
      return { ...outcome('declined', changes, head), pullRequest: known };
    const there = repository.refs.has(`refs/heads/${head}`);
    if (!there) {
      const place = { onto: base, branch: head, expected: undefined };
      const pushed = await pushChanges(delivery, repository, changes, place);
      if (pushed === 'moved') return pushed;
    }
    const opened = forge && (await ensureOpen(delivery, forge, known, head, changes));
    const superseded = await clear();
    const done = there && (!forge || known?.state === 'open') && superseded.length === 0;
    return { ...outcome(done ? 'unchanged' : 'proposed', changes, head), pullRequest: opened, superseded };
  });

const outcome = (
  word: ProposalOutcome['outcome'],
  changes: Changes,
  proposal: string | undefined,
): ProposalOutcome => ({ outcome: word, changes, proposal, pullRequest: undefined, superseded: [] });

/** Opens a pull request unless there is an open one, and adds missing labels. */
const ensureOpen = async (
  { environment, branch, sources }: BranchDelivery,
  forge: Forge,
  known: PullRequest | undefined,
  head: string,
  changes: Changes,
): Promise<PullRequest> => {
  const labels = changes.written.some(({ path }) => path === TRACKING_FILE) ? [PROMOTED] : [];
  const words = {
    environment,
    base: branch,
    change: changes.name,
    written: changes.written.length,
    removed: changes.removed.length,
    sources,
  };
  const open =
    known?.state === 'open'
      ? known
      : await forge.open({ head, base: branch, title: titleOf(words), body: bodyOf(words) });
  const missing = labels.filter((label) => !open.labels.includes(label));
  if (missing.length > 0) await forge.addLabels(open.number, missing);
  return open;
};

/** Closes earlier proposals and removes their branches. A branch to which someone has added commits meanwhile is kept. */
const supersede = async (
  { git, branch: base }: BranchDelivery,
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

const noBase = ({ repo, branch }: BranchDelivery): FleetError =>
  new FleetError('SOURCE_MISSING', `${redactUrl(repo)} has no branch ${branch} to propose a change for`, {
    subject: redactUrl(repo),
    hint: 'Publish to it once without --pull-request, or make it',
  });
