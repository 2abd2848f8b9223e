import type { FleetError } from '#bundles/errors';
import type { RegistryOptions } from '#bundles/transport/registry/registry';
import { toProblem } from '../../model/problems.ts';
import { redactUrl } from '../../model/repository-url.ts';
import { withoutRepository } from '../../load/sources/run-git.ts';
import type { CommitIdentity } from '../git/commit-identity.ts';
import { code, type CommitText } from '../git/commit-text.ts';
import { type BranchDelivery, deliverBranch } from '../git/deliver-branch.ts';
import type { Forge } from '../git/forge/forge.ts';
import { planFiles } from '../git/plan-changes.ts';
import { proposeBranch } from '../git/propose-branch.ts';
import type { BasePromotion } from './promote-base.ts';

export type BaseDelivery = {
  readonly pullRequest: boolean;
  readonly forge: string | undefined;
  readonly identity: CommitIdentity;
  readonly cacheDirectory: string;
  readonly connection: RegistryOptions;
  readonly env: NodeJS.ProcessEnv;
  readonly person: string;
  readonly reason: string | undefined;
  readonly dryRun: boolean;
  readonly now: Date;
  readonly signal: AbortSignal;
};

export type DeliveredBase = {
  readonly outcome: 'pushed' | 'proposed' | 'unchanged' | 'declined' | 'planned';
  readonly commit: string | undefined;
  readonly proposal: string | undefined;
  readonly pullRequest: string | undefined;
  readonly superseded: readonly string[];
  /** Commits whose status was set. */
  readonly statuses: readonly string[];
  /** Why a status could not be set. The promotion itself is done. */
  readonly problem: FleetError | undefined;
};

/**
 * Writes a promotion to the environment's branch of the control plane, as a commit or as a proposal, and sets the commit
 * status that Kalypso's workflow sets.
 * @throws FleetError the codes of deliverBranch, proposeBranch and chooseForge
 */
export const deliverBase = async (plan: BasePromotion, delivery: BaseDelivery): Promise<DeliveredBase> => {
  const { env, signal, forge: kind, connection } = delivery;
  const wanted: BranchDelivery = {
    git: { env: withoutRepository(env), signal },
    cacheDirectory: delivery.cacheDirectory,
    repo: plan.repo,
    branch: plan.branch,
    environment: plan.to,
    plan: (before) => planFiles(before, plan.files),
    words: () => commitTextOf(plan, delivery),
    labels: () => [],
    identity: delivery.identity,
    now: delivery.now,
    dryRun: delivery.dryRun,
  };
  const { chooseForge } = await import('../git/forge/choose-forge.ts');
  const open = (repo: string) => chooseForge(repo, { forge: kind, connection, env, signal });
  const done = await bring(wanted, delivery.pullRequest ? open(plan.repo) : undefined, delivery.pullRequest);
  if (done.outcome !== 'pushed' && done.outcome !== 'proposed')
    return { ...done, statuses: [], problem: undefined };
  return { ...done, ...(await setStatuses(plan, delivery.pullRequest, open)) };
};

const bring = async (
  wanted: BranchDelivery,
  forge: Forge | undefined,
  isProposed: boolean,
): Promise<Omit<DeliveredBase, 'statuses' | 'problem'>> => {
  if (!isProposed) {
    const { outcome, commit } = await deliverBranch(wanted);
    return { outcome, commit, proposal: undefined, pullRequest: undefined, superseded: [] };
  }
  await using opened = forge;
  const { outcome, proposal, pullRequest, superseded } = await proposeBranch(wanted, opened);
  return { outcome, commit: undefined, proposal, pullRequest: pullRequest?.url, superseded };
};

/** The words of Kalypso's workflow, which people and branch protections look for. */
const setStatuses = async (
  { to, promoted }: BasePromotion,
  isProposed: boolean,
  open: (repo: string) => Forge | undefined,
): Promise<Pick<DeliveredBase, 'statuses' | 'problem'>> => {
  const statuses: string[] = [];
  try {
    for (const { repo, commit } of promoted) {
      await using forge = open(repo);
      if (!forge) continue;
      await forge.setCommitStatus({
        commit,
        context: `${to} environment`,
        state: 'pending',
        description: isProposed ? 'Promotion proposed' : 'Promoted',
      });
      statuses.push(commit);
    }
    return { statuses, problem: undefined };
  } catch (error) {
    return { statuses, problem: toProblem(error, 'setting the commit status') };
  }
};

const commitTextOf = (
  { from, to, promoted }: BasePromotion,
  { person, reason }: BaseDelivery,
): CommitText => {
  const [first] = promoted;
  const source = from === undefined ? '' : ` from ${from}`;
  return {
    title: `Promote ${first?.commit.slice(0, 12)}${source} to ${to}`,
    body: [
      `Decided by ${code(person)}${reason === undefined ? '.' : `: ${code(reason)}`}`,
      ...promoted.map(
        ({ name, repo, branch, before, commit }) =>
          `BaseRepo ${name}, ${redactUrl(repo)} ${branch}\n- from ${before ?? 'the newest commit'}\n- to ${commit}`,
      ),
    ].join('\n\n'),
  };
};
