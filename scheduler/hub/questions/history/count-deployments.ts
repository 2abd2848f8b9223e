import { shortDigest } from '#bundles/digest';
import { isFailed } from '../../../model/event-steps.ts';
import type { Hub } from '../../hub.ts';
import { needsAttention } from '../../store/add-troubles.ts';
import type { AssignmentStateRow, Database } from '../../store/tables.ts';
import { openReleases, type Releases } from './read-releases.ts';
import { readRunning, type RunningCount, runningKey } from './read-running.ts';

/** As in the view v1_deployments. */
export type DeploymentState = 'healthy' | 'failed' | 'drifted' | 'unknown';

/** At how many agents a version of a workload runs in a state. */
export type DeploymentCount = {
  readonly environment: string;
  readonly workload: string;
  readonly version: string;
  readonly state: DeploymentState;
  readonly agents: number;
};

/** Counts what runs where by version. Costs what readRunning does, and a read of the assignments in trouble. */
export const countDeployments = async (
  hub: Pick<Hub, 'store' | 'layout' | 'keys'>,
): Promise<readonly DeploymentCount[]> => {
  const { db } = hub.store;
  const { running } = await readRunning(db);
  const troubles = await readTroubledPackages(db);
  const releases = await openReleases(hub);
  const counts = new Map<string, DeploymentCount>();
  for (const [key, count] of running) {
    const named = await nameVersion(releases, count);
    const states = troubles.get(key) ?? new Map<DeploymentState, number>();
    const troubled = [...states.values()].reduce((sum, agents) => sum + agents, 0);
    for (const [state, agents] of [['healthy', count.agents - troubled] as const, ...states]) {
      const labels = { environment: count.environment, ...named, state };
      const id = JSON.stringify(labels);
      const before = counts.get(id)?.agents ?? 0;
      if (agents > 0) counts.set(id, { ...labels, agents: before + agents });
    }
  }
  return [...counts.values()];
};

const COUNTED_BY = [
  'agent.environment',
  'agent.cluster_type',
  'state.assignment',
  'state.package',
  'state.outcome',
  'state.outcome_type',
  'state.code',
  'state.drifted',
] as const;

/** Agents by runningKey and state, of packages that are not healthy. */
const readTroubledPackages = async (
  db: Database,
): Promise<ReadonlyMap<string, Map<DeploymentState, number>>> => {
  const rows = await db
    .selectFrom('assignment_state as state')
    .innerJoin('agent', 'agent.id', 'state.agent')
    .select(({ fn }) => [...COUNTED_BY, fn.countAll<number>().as('agents')])
    .where('agent.revoked_at', 'is', null)
    .where(needsAttention('state'))
    .where('state.package', 'is not', null)
    .groupBy(COUNTED_BY)
    .execute();
  const found = new Map<string, Map<DeploymentState, number>>();
  for (const { environment, cluster_type: clusterType, ...row } of rows) {
    const state = stateOf(row);
    if (state === 'healthy' || row.package === null) continue;
    const key = runningKey({ environment, clusterType }, row.assignment, row.package);
    const states = found.get(key) ?? new Map<DeploymentState, number>();
    found.set(key, states.set(state, (states.get(state) ?? 0) + row.agents));
  }
  return found;
};

const stateOf = (
  row: Pick<AssignmentStateRow, 'outcome' | 'outcome_type' | 'code' | 'drifted'>,
): DeploymentState => {
  if (isFailed({ outcome: row.outcome, type: row.outcome_type ?? '' })) return 'failed';
  if (row.drifted === 1) return 'drifted';
  return row.code === 'HEALTH_UNKNOWN' ? 'unknown' : 'healthy';
};

/** The version as people know it, otherwise the commit or the digest of the package. */
const nameVersion = async (
  releases: Releases,
  { environment, clusterType, assignment, package: digest }: RunningCount,
): Promise<{ readonly workload: string; readonly version: string }> => {
  const known = await releases.versionOf({ environment, clusterType }, assignment, digest);
  return {
    workload: known?.name ?? assignment,
    version: known?.version ?? known?.commit?.slice(0, 7) ?? shortDigest(digest),
  };
};
