import type { Digest } from '#bundles/digest';
import { formatChannel } from '#bundles/names';
import { formatTime, type Timestamp } from '#bundles/time';
import { packagesDigest } from '../../ingest/reports/agent-state.ts';
import { channelOf } from '../../sites/agent-record.ts';
import type { Database } from '../../store/tables.ts';
import { type KnownAgent, readStates, toAgent } from './read-actual.ts';
import { silentSince } from './silent-since.ts';
import {
  type ActualAgent,
  type Desired,
  type JudgedAssignment,
  judgeAssignments,
  NONE,
} from './what-runs-where.ts';

/** How an agent stands to the current release of its channel, without regard to the age of its words. */
export type Standing =
  /** Each assignment complies. The times are those of AgentStateRow. */
  | {
      readonly kind: 'complies';
      readonly checkedAt: Timestamp | null;
      readonly settledAt: Timestamp | null;
    }
  /** As the rows of its status table. */
  | { readonly kind: 'differs'; readonly rows: readonly JudgedAssignment[] };

/** Agents without the states of their assignments. */
export const withoutStates = (now: Date): ((row: KnownAgent) => ActualAgent) => {
  const times = { since: silentSince(now), at: formatTime(now) };
  return (row) => toAgent(row, [], times);
};

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
 * Compares agents with the releases of their channels, by agent. The states of assignments are read only of agents that differ, so
 * that a question about a fleet that complies costs the number of agents and not of assignments. They are read in parts and kept only
 * as far as the question takes them.
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
  for (let start = 0; start < differing.length; start += NAMES) {
    const part = differing.slice(start, start + NAMES);
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
