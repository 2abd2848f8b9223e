import { defined } from '#bundles/defined';
import { registryOptions } from '#bundles/transport/registry/registry-access';
import { platformOptions } from '../../load/platform/platform-options.ts';
import { deliverTrees } from '../../deliver/tree/deliver-trees.ts';
import type { Delivered } from '../../deliver/tree/tree-delivery.ts';
import { createCommitReader } from '../../deliver/tree/read-commits.ts';
import { identityOf } from '../../deliver/git/commit-identity.ts';
import { parseTreeTarget } from '../../deliver/tree/tree-target.ts';
import { faultFields } from './fault-fields.ts';
import type { WatchOptions } from './watch-options.ts';

/** Time after which an unchanged tree is delivered again, because someone may have pushed to the branch. */
const TRUST_MS = 3_600_000;

/**
 * Delivers the rendered trees to the configured target after every build, and retries until that succeeds.
 * @returns a step that throws the first tree's FleetError after all other trees were delivered
 */
export const createDeliverStep = (options: WatchOptions) => {
  const { configuration, env, cwd, clock, log, confirm, readClusters, keepCommits } = options;
  const commits = createCommitReader();
  let delivered: Date | undefined;
  let [before, reported] = ['', ''];
  return async (built: boolean, signal: AbortSignal): Promise<void> => {
    const { tree, treePullRequest, forge, environments, layout } = configuration;
    if (tree === undefined) return;
    const now = clock();
    const age = now.getTime() - (delivered?.getTime() ?? 0);
    const clusters = configuration.treeClusters ? await readClusters?.() : undefined;
    // A value of a site that changed, a cluster that is new or was labelled otherwise.
    const known = JSON.stringify(clusters ?? []);
    const delivery = {
      ...platformOptions(configuration, { cwd, env, signal }),
      to: parseTreeTarget(tree),
      layout,
      env,
      signal,
    };
    // A pull request is merged at any time, and clusters follow at once.
    const noteCommits = async (): Promise<void> => {
      if (clusters && keepCommits) await keepCommits(await commits(delivery, clusters));
    };
    if (!built && known === before && age >= 0 && age < TRUST_MS) return await noteCommits();
    delivered = undefined;
    before = known;
    await confirm?.();
    const trees = await deliverTrees({
      ...delivery,
      ...defined({ clusters, environments }),
      staleOk: true,
      pullRequest: treePullRequest,
      identity: identityOf(configuration),
      forge,
      connection: registryOptions({ ...configuration, env }),
      now,
      onDelivered: ({
        environment,
        to,
        outcome,
        commit,
        proposal,
        pullRequest,
        written,
        removed,
        removedPackages,
      }: Delivered) => {
        if (outcome === 'unchanged' || outcome === 'waiting' || outcome === 'failed') return;
        const counts = defined({
          written: written.length,
          removed: removed.length,
          removes: removedPackages.length > 0 ? removedPackages : undefined,
        });
        log.info({ environment, to, commit, proposal, pullRequest, ...counts }, `tree ${outcome}`);
      },
    });
    await noteCommits();
    const held = trees.flatMap(({ heldAtClusters = [] }) => heldAtClusters);
    const named = held.map(({ cluster, error }) => `${cluster} ${error.message}`).join('\n');
    if (named !== reported)
      for (const { cluster, assignment, error } of held)
        log.warn({ cluster, assignment, ...faultFields(error) }, 'held by values of the site');
    reported = named;
    const [failed] = trees.flatMap(({ environment, problems }) => {
      const [first] = problems;
      if (first) log.error({ environment, ...faultFields(first) }, 'tree not delivered');
      return first ?? [];
    });
    if (failed) throw failed;
    delivered = now;
  };
};
