import type { Digest } from '#bundles/digest';
import { type Channel, formatChannel } from '#bundles/names';
import type { Timestamp } from '#bundles/time';
import { packagesDigest } from '../../ingest/reports/agent-state.ts';
import { parts } from '../../store/parts.ts';
import type { Database } from '../../store/tables.ts';
import { judgeDiffering } from './judge-differing.ts';
import { readStates } from './read-actual.ts';
import { type FleetAgent, shareChannels, withoutStates } from './read-agents.ts';
import { type Desired, type JudgedAssignment, judgeAssignments, NONE } from './what-runs-where.ts';

/** How an agent stands to the current release of its channel, without regard to the age of its words. */
export type Standing =
  /** Each assignment complies. The times are those of AgentStateRow. */
  | {
      readonly kind: 'complies';
      readonly checkedAt: Timestamp | null;
      readonly settledAt: Timestamp | null;
    }
  /** The rows of its status table. Without the cells of assignments that are not in trouble, unless each row complies. */
  | { readonly kind: 'differs'; readonly rows: readonly JudgedAssignment[] };

/** The releases that agents are compared with, and the fields that a question takes from each comparison. */
export type StandingQuestion<T> = {
  /** By formatChannel. */
  readonly desired: ReadonlyMap<string, Desired>;
  readonly now: Date;
  /** @param at index of the agent */
  readonly take: (standing: Standing, at: number) => T;
};

/**
 * Compares agents with the releases of their channels, each in its place. A question costs the number of agents, of different sets of packages
 * and of assignments in trouble, and not of all assignments: of agents that comply, or that a rollout does not reach yet, no states are read.
 */
export const readStandings = async <T>(
  db: Database,
  agents: readonly FleetAgent[],
  { desired, now, take }: StandingQuestion<T>,
): Promise<readonly T[]> => {
  const wantedOf = packagesOf(desired);
  const differing = agents.filter((agent) => !complies(agent, wantedOf(agent)));
  const judged = await judgeDiffering(db, differing, desired, now);
  const differs = (rows: readonly JudgedAssignment[] | undefined): boolean =>
    rows?.some(({ verdict }) => verdict !== 'complies') ?? false;
  // Of agents of which a report came between two statements, all states are read at once.
  const changed = differing.filter(({ id }) => !differs(judged.get(id)));
  const reread = await judgeAllAssignments(db, changed, desired, now);
  return agents.map((agent, at) => {
    const rows = reread.get(agent.id) ?? judged.get(agent.id);
    const { checked_at: checkedAt, settled_at: settledAt } = agent;
    return take(rows ? { kind: 'differs', rows } : { kind: 'complies', checkedAt, settledAt }, at);
  });
};

/** Judges agents from the states of all of their assignments. */
const judgeAllAssignments = async (
  db: Database,
  agents: readonly FleetAgent[],
  desired: ReadonlyMap<string, Desired>,
  now: Date,
): Promise<ReadonlyMap<string, readonly JudgedAssignment[]>> => {
  const toActual = withoutStates(now);
  const judged = new Map<string, readonly JudgedAssignment[]>();
  for (const part of parts(agents)) {
    const states = await readStates(db, { agents: part.map(({ id }) => id) });
    for (const row of part) {
      const agent = { ...toActual(row), states: states.get(row.id) ?? [] };
      judged.set(row.id, judgeAssignments(desired.get(formatChannel(agent.channel)) ?? NONE, agent));
    }
  }
  return judged;
};

/** The digest of the packages that the channel of an agent has; undefined: it has no release. */
const packagesOf = (
  desired: ReadonlyMap<string, Desired>,
): ((agent: Pick<FleetAgent, 'environment' | 'cluster_type'>) => Digest | undefined) => {
  const channelOf = shareChannels();
  const wanted = new Map<Channel, Digest | undefined>();
  return (agent) => {
    const channel = channelOf(agent);
    if (!wanted.has(channel)) {
      const release = desired.get(formatChannel(channel));
      wanted.set(channel, release?.kind === 'release' ? packagesDigest(release.packages) : undefined);
    }
    return wanted.get(channel);
  };
};

const complies = ({ packages, troubles }: FleetAgent, wanted: Digest | undefined): boolean =>
  packages !== null && packages === wanted && troubles === 0;
