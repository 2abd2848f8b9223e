import type { Digest } from '#bundles/digest';
import { formatChannel } from '#bundles/names';
import type { Timestamp } from '#bundles/time';
import { packagesDigest } from '../../ingest/reports/agent-state.ts';
import { channelOf } from '../../sites/agent-record.ts';
import type { Database } from '../../store/tables.ts';
import { judgeDiffering } from './judge-differing.ts';
import { type KnownAgent, readStates, withoutStates } from './read-actual.ts';
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

/** Names per IN, below the parameter limits of the databases. */
const NAMES = 500;

/** The releases that agents are compared with, and the fields that a question takes from each comparison. */
export type StandingQuestion<T> = {
  /** By formatChannel. */
  readonly desired: ReadonlyMap<string, Desired>;
  readonly now: Date;
  readonly take: (agent: KnownAgent, standing: Standing) => T;
};

/**
 * Compares agents with the releases of their channels, by agent. A question costs the number of agents, of different sets of packages
 * and of assignments in trouble, and not of all assignments: of agents that comply, or that a rollout does not reach yet, no states are read.
 */
export const readStandings = async <T>(
  db: Database,
  agents: readonly KnownAgent[],
  { desired, now, take }: StandingQuestion<T>,
): Promise<ReadonlyMap<string, T>> => {
  const wanted = new Map<string, Digest>();
  for (const [channel, release] of desired)
    if (release.kind === 'release') wanted.set(channel, packagesDigest(release.packages));
  const taken = new Map<string, T>();
  const differing: KnownAgent[] = [];
  const toActual = withoutStates(now);
  for (const agent of agents) {
    const { id, checked_at: checkedAt, settled_at: settledAt } = agent;
    if (complies(agent, wanted.get(formatChannel(channelOf(agent)))))
      taken.set(id, take(agent, { kind: 'complies', checkedAt, settledAt }));
    else differing.push(agent);
  }
  const judged = await judgeDiffering(db, differing, desired, now);
  const changed: KnownAgent[] = [];
  for (const agent of differing) {
    const rows = judged.get(agent.id);
    if (rows?.some(({ verdict }) => verdict !== 'complies'))
      taken.set(agent.id, take(agent, { kind: 'differs', rows }));
    else changed.push(agent);
  }
  // Agents of which a report came between two statements: all of their states are read at once.
  for (let start = 0; start < changed.length; start += NAMES) {
    const part = changed.slice(start, start + NAMES);
    const states = await readStates(db, { agents: part.map(({ id }) => id) });
    for (const row of part) {
      const agent = { ...toActual(row), states: states.get(row.id) ?? [] };
      const release = desired.get(formatChannel(agent.channel)) ?? NONE;
      taken.set(row.id, take(row, { kind: 'differs', rows: judgeAssignments(release, agent) }));
    }
  }
  return taken;
};

const complies = (agent: KnownAgent, wanted: Digest | undefined): boolean =>
  agent.packages !== null &&
  agent.packages === wanted &&
  agent.failed === 0 &&
  agent.drifted === 0 &&
  agent.unknown === 0;
