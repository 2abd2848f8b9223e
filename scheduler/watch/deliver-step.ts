import { registryOptions } from '#bundles/registry/registry-access';
import { platformOptions } from '../commands/platform-options.ts';
import { type Delivered, deliverTrees } from '../publish/tree/deliver-trees.ts';
import { parseTreeTarget } from '../publish/tree/tree-target.ts';
import { faultFields } from './fault-fields.ts';
import type { WatchOptions } from './watch-options.ts';

/** How long a branch is believed to hold what it was given: somebody may push to it by hand. */
const TRUST_MS = 3_600_000;

/**
 * Brings the rendered trees to where the configuration says, after a build and until it has succeeded.
 * @returns a step that throws what keeps a tree back, after all others were delivered
 */
export const makeDeliverStep = ({ configuration, env, cwd, clock, log }: WatchOptions) => {
  let delivered: Date | undefined;
  return async (built: boolean, signal: AbortSignal): Promise<void> => {
    const { tree, treePullRequest, forge, environments } = configuration;
    if (tree === undefined) return;
    const now = clock();
    const age = now.getTime() - (delivered?.getTime() ?? 0);
    if (!built && age >= 0 && age < TRUST_MS) return;
    delivered = undefined;
    const trees = await deliverTrees({
      ...platformOptions(configuration, { cwd, env, signal }),
      to: parseTreeTarget(tree),
      ...(environments && { environments }),
      staleOk: true,
      pullRequest: treePullRequest,
      forge,
      connection: registryOptions({ ...configuration, env }),
      env,
      now,
      signal,
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
        if (outcome === 'unchanged' || outcome === 'failed') return;
        const counts = {
          written: written.length,
          removed: removed.length,
          ...(removedPackages.length > 0 && { removes: removedPackages }),
        };
        log.info({ environment, to, commit, proposal, pullRequest, ...counts }, `tree ${outcome}`);
      },
    });
    const [failed] = trees.flatMap(({ environment, problems }) => {
      const [first] = problems;
      if (first) log.error({ environment, ...faultFields(first) }, 'tree not delivered');
      return first ?? [];
    });
    if (failed) throw failed;
    delivered = now;
  };
};
