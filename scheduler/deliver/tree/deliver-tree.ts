import { FleetError } from '#bundles/errors';
import { withoutRepository } from '../../load/sources/run-git.ts';
import type { Platform } from '../../model/model.ts';
import { redactUrl } from '../../model/repository-url.ts';
import { TRACKING_FILE } from '../../render/render-tree.ts';
import { COMMITTER } from '../git/commit-identity.ts';
import { bodyOf, titleOf } from '../git/commit-text.ts';
import { type BranchDelivery, type BranchPlace, deliverBranch } from '../git/deliver-branch.ts';
import type { Forge } from '../git/forge/forge.ts';
import type { Changes } from '../git/plan-changes.ts';
import { type PromotionStory, promotionName, promotionText } from '../git/promotion-text.ts';
import { proposeBranch, withdrawProposals } from '../git/propose-branch.ts';
import { deliverDirectory } from './deliver-directory.ts';
import type { Delivered, TreeDelivery } from './tree-delivery.ts';
import type { StagedTree } from './stage-tree.ts';

type Brought = Omit<
  Delivered,
  'environment' | 'removedPackages' | 'held' | 'heldWorkloads' | 'advice' | 'problems'
>;

/** The label that Kalypso's workflows look for on pull requests with a promoted commit. */
const PROMOTED = 'promoted';

/**
 * Delivers a rendered tree to its destination.
 * @throws FleetError the codes of deliverDirectory, deliverBranch, proposeBranch and chooseForge; REFERENCE_MISSING
 */
export const deliverTree = async (
  delivery: TreeDelivery,
  { platform, tree, isKept, plan, earlier, stages }: StagedTree,
  promotion: PromotionStory | undefined,
): Promise<Brought> => {
  const { to, dryRun = false } = delivery;
  const { environment, sources } = platform;
  if (to.kind === 'directory') {
    const { directory } = to;
    const done = await deliverDirectory({ directory, environment, tree, earlier, isKept, dryRun });
    return { superseded: [], to: `${directory}/${environment}`, ...done };
  }
  const { repo, branch = environment } = to.kind === 'gitops' ? gitOpsOf(platform) : to;
  const wanted: BranchDelivery = {
    ...placeOf(delivery, repo, branch),
    environment,
    plan,
    words: (changes, isPromotion) => {
      const { written, removed } = changes;
      const counts = { written: written.length, removed: removed.length };
      const body = bodyOf({ environment, ...counts, sources, stages });
      const title = titleOf({ environment });
      if (!promotion) return { title, body };
      const story = promotionText(promotion, changes, body);
      return { ...story, title: isPromotion ? story.title : title };
    },
    labels: ({ written }) => (written.some(({ path }) => path === TRACKING_FILE) ? [PROMOTED] : []),
    promotion: promotion && { name: promotionName(promotion.statement), candidate: promotion.candidate },
    dryRun,
  };
  const place = { superseded: [], to: `${redactUrl(repo)} ${branch}` };
  if (!delivery.pullRequest) {
    const { outcome, changes, commit } = await deliverBranch(wanted);
    return { ...place, ...pathsOf(changes), outcome, commit };
  }
  await using forge = await openForge(delivery, repo);
  const { changes, pullRequest, ...done } = await proposeBranch(wanted, forge);
  return { ...place, ...pathsOf(changes), ...done, pullRequest: pullRequest?.url };
};

/**
 * Closes our open proposals for an environment's branch when nothing may be delivered to it.
 * @returns their branches
 * @throws FleetError the codes of withdrawProposals and chooseForge
 */
export const withdrawTree = async (
  delivery: TreeDelivery,
  environment: string,
): Promise<readonly string[]> => {
  const { to, dryRun, pullRequest } = delivery;
  if (to.kind !== 'git' || !pullRequest || dryRun) return [];
  await using forge = await openForge(delivery, to.repo);
  return await withdrawProposals(placeOf(delivery, to.repo, to.branch ?? environment), forge);
};

const placeOf = (
  { env, signal, cacheDirectory, now, identity = { committer: COMMITTER, sign: false } }: TreeDelivery,
  repo: string,
  branch: string,
): BranchPlace => ({
  git: { env: withoutRepository(env), signal },
  cacheDirectory,
  repo,
  branch,
  identity,
  now,
});

const openForge = async (
  { forge, connection, env, signal }: TreeDelivery,
  repo: string,
): Promise<Forge | undefined> => {
  // Imported on demand: the HTTP client takes longer to load than everything else.
  const { chooseForge } = await import('../git/forge/choose-forge.ts');
  return chooseForge(repo, { forge, connection, env, signal });
};

const pathsOf = ({ written, removed, unchanged }: Changes) => {
  const shown = (path: string): string => Buffer.from(path, 'latin1').toString('utf8');
  return { written: written.map(({ path }) => shown(path)), removed: removed.map(shown), unchanged };
};

const gitOpsOf = ({
  gitOps,
  environment,
  form,
}: Platform): { readonly repo: string; readonly branch: string } => {
  if (gitOps) return gitOps;
  throw new FleetError('REFERENCE_MISSING', `environment ${environment} names no GitOpsRepo`, {
    subject: environment,
    hint:
      form === 'fleet'
        ? 'Give --to git+<URL>: the branch is the environment, or write #<branch>'
        : 'Give --to git+<URL>, or add a GitOpsRepo with a branch to the environment',
  });
};
