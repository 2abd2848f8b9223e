import type { Digest } from '#bundles/digest';
import { type Channel, formatChannel } from '#bundles/names';
import { parts } from '../../store/parts.ts';
import type { Database } from '../../store/tables.ts';

/** How many agents of a channel run a package. */
export type RunningCount = {
  readonly environment: string;
  readonly clusterType: string;
  readonly assignment: string;
  readonly package: Digest;
  readonly agents: number;
};

export type RunningCounts = {
  /** Agents by formatChannel. */
  readonly agents: ReadonlyMap<string, number>;
  /** By runningKey. */
  readonly running: ReadonlyMap<string, RunningCount>;
};

export const runningKey = (channel: Channel, assignment: string, digest: Digest): string =>
  `${formatChannel(channel)}/${assignment}/${digest}`;

/**
 * Counts agents by running package. Agents that run the same packages are counted once by their digest and read once.
 * @param environments undefined: all
 */
export const readRunning = async (db: Database, environments?: readonly string[]): Promise<RunningCounts> => {
  let query = db
    .selectFrom('agent')
    .leftJoin('agent_state', 'agent_state.agent', 'agent.id')
    .select(({ fn }) => [
      'agent.environment',
      'agent.cluster_type',
      'agent_state.packages',
      fn.countAll<number>().as('count'),
      fn.min('agent.id').as('example'),
    ])
    .where('agent.revoked_at', 'is', null)
    .groupBy(['agent.environment', 'agent.cluster_type', 'agent_state.packages']);
  if (environments !== undefined) query = query.where('agent.environment', 'in', environments);
  const groups = await query.execute();
  const agents = new Map<string, number>();
  const running = new Map<string, RunningCount>();
  for (const part of parts(groups)) {
    const examples = part.map(({ example }) => example);
    const states = await db
      .selectFrom('assignment_state')
      .select(['agent', 'assignment', 'package'])
      .where('agent', 'in', examples)
      .where('package', 'is not', null)
      .execute();
    const byAgent = Map.groupBy(states, ({ agent }) => agent);
    for (const { environment, cluster_type: clusterType, count, example } of part) {
      const channel = formatChannel({ environment, clusterType });
      agents.set(channel, (agents.get(channel) ?? 0) + count);
      for (const { assignment, package: digest } of byAgent.get(example) ?? []) {
        if (digest === null) continue;
        const key = runningKey({ environment, clusterType }, assignment, digest);
        const before = running.get(key)?.agents ?? 0;
        running.set(key, { environment, clusterType, assignment, package: digest, agents: before + count });
      }
    }
  }
  return { agents, running };
};
