import { formatChannel } from '#bundles/names';
import type { Database } from '../store/tables.ts';

/** By formatChannel, the shortest maximum lease age among the agents of the channel, in seconds. */
export const shortestFreshness = async (db: Database): Promise<ReadonlyMap<string, number>> => {
  const rows = await db
    .selectFrom('agent')
    .select(['environment', 'cluster_type', 'freshness_seconds'])
    .where('revoked_at', 'is', null)
    .where('freshness_seconds', 'is not', null)
    .execute();
  const shortest = new Map<string, number>();
  for (const { environment, cluster_type: clusterType, freshness_seconds: seconds } of rows) {
    if (seconds === null) continue;
    const channel = formatChannel({ environment, clusterType });
    shortest.set(channel, Math.min(shortest.get(channel) ?? seconds, seconds));
  }
  return shortest;
};
