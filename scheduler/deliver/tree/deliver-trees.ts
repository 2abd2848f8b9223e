import { compareBytes } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { environmentsOf } from '../../load/list-environments.ts';
import { readRoot, sourcesOf } from '../../load/load-platform.ts';
import type { Sources } from '../../load/sources/open-sources.ts';
import { type Chain, loadPolicies, type Policies } from '../../release/chain/open-chain.ts';
import { problemsOf, throwProblems, toProblem } from '../../model/problems.ts';
import { type RenderedEnvironment, renderEnvironment } from '../../render/render-environment.ts';
import { deliverTree, withdrawTree } from './deliver-tree.ts';
import { CLUSTERS } from '../git/cluster-folder.ts';
import { loadPlace, openTreeChain, openTreeLayout, type TreeLayout } from './load-place.ts';
import { stageTree } from './stage-tree.ts';
import type { TreeTarget } from './tree-target.ts';
import type { TreeDelivery, Delivered } from './tree-delivery.ts';

/**
 * Renders environments from one snapshot of the sources and delivers each tree. An environment that cannot be loaded or delivered
 * has outcome 'failed' and does not stop the others.
 * @throws FleetError PLATFORM_INVALID and other problems of the platform's root; USAGE if environments share a branch; ABORTED
 */
export const deliverTrees = async (delivery: TreeDelivery): Promise<readonly Delivered[]> => {
  const sources = delivery.sources ?? sourcesOf(delivery);
  const root = await readRoot(delivery.platform, sources);
  const environments = [...new Set(delivery.environments ?? environmentsOf(root))];
  refuseOneBranch(delivery.to, environments);
  const opened = await openTreeLayout(delivery);
  let read: Promise<Policies> | undefined;
  const policies = () => (read ??= loadPolicies(sources, root));
  const chain = await openTreeChain(delivery, root, opened, policies);
  const stages = { opened, policies };
  const delivered: Delivered[] = [];
  for (const environment of environments) {
    delivery.signal.throwIfAborted();
    const one = await deliverOne({ ...delivery, sources }, environment, chain, stages);
    delivered.push(one);
    delivery.onDelivered?.(one);
  }
  return delivered;
};

/** Two environments on one branch would remove each other's folders. */
const refuseOneBranch = (to: TreeTarget, environments: readonly string[]): void => {
  if (to.kind !== 'git' || to.branch === undefined || environments.length < 2) return;
  throw new FleetError('USAGE', `${environments.join(', ')} cannot share the branch ${to.branch}`, {
    hint: 'Give one --environment, or leave #branch out: each then has the branch of its name',
  });
};

const NOTHING = { written: [], removed: [], unchanged: 0, superseded: [] } as const;

const waiting = (environment: string, waits: FleetError): Delivered => ({
  environment,
  ...NOTHING,
  to: undefined,
  outcome: 'waiting',
  removedPackages: [],
  held: [],
  heldWorkloads: [],
  advice: [],
  problems: [],
  waits,
});

const deliverOne = async (
  delivery: TreeDelivery & { readonly sources: Sources },
  environment: string,
  chain: Chain | undefined,
  stages: { readonly opened: TreeLayout | undefined; readonly policies: () => Promise<Policies> },
): Promise<Delivered> => {
  const known = { held: [], heldWorkloads: [], advice: [] };
  try {
    const place = await loadPlace(delivery, environment, chain);
    if (place.kind === 'waiting') {
      // A proposal of rejected content, or of content that was never promoted, must not be merged.
      const superseded = await withdrawTree(delivery, environment);
      return { ...waiting(environment, place.why), superseded };
    }
    if (place.kind === 'invalid') throwProblems(place.problems, 'the folder promotion/');
    if (place.kind !== 'loaded') throw new FleetError('INTERNAL', 'no problem was reported');
    const { platform, promotion } = place;
    const rendered = renderEnvironment(platform);
    const findings = {
      held: rendered.result.held,
      heldWorkloads: platform.heldWorkloads ?? [],
      advice: rendered.schedule.advice,
    };
    const { promotion: declared, problems } = await stages.policies();
    throwProblems(problems, 'the folder promotion/');
    const staged = await stageTree(
      {
        ...delivery,
        opened: stages.opened,
        rolloutPolicies: declared.rolloutPolicies,
        clusters: delivery.clusters ?? [],
      },
      rendered,
    );
    const brought = await deliverTree(delivery, staged, promotion);
    const removedPackages = packagesIn(brought.removed, staged.tree);
    const { heldAtClusters } = staged;
    return { environment, ...findings, heldAtClusters, problems: [], ...brought, removedPackages };
  } catch (error) {
    const problem = toProblem(error, `delivering ${environment}`);
    if (problem.code === 'NOT_PROMOTED' && !delivery.candidate) return waiting(environment, problem);
    const failed = { to: undefined, outcome: 'failed' as const, problems: problemsOf(problem) };
    return { environment, ...NOTHING, removedPackages: [], ...known, ...failed };
  }
};

/** '<cluster type>/<target>' of the removed files whose folder is not in the new tree. */
const packagesIn = (removed: readonly string[], tree: RenderedEnvironment['tree']): readonly string[] => {
  const folderOf = (path: string): readonly string[] => {
    const [clusterType, target, file] = path.split('/');
    // Folders of clusters repeat the packages of a cluster type.
    return file === undefined || clusterType === CLUSTERS ? [] : [`${clusterType}/${target}`];
  };
  const there = new Set([...tree.keys()].flatMap(folderOf));
  return [...new Set(removed.flatMap(folderOf))]
    .filter((folder) => !there.has(folder))
    .toSorted(compareBytes);
};
