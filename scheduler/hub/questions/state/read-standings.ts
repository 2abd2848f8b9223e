import type { Digest } from '#bundles/digest';
import { type Channel, formatChannel } from '#bundles/names';
import type { Timestamp } from '#bundles/time';
import { packagesDigest } from '../../ingest/reports/agent-state.ts';
import type { Database } from '../../store/tables.ts';
import { judgeDiffering } from './judge-differing.ts';
import { readStates } from './read-actual.ts';
import { type KnownAgent, shareChannels, withoutStates } from './read-agents.ts';
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
export type StandingQuestion<A, T> = {
  /** By formatChannel. */
  readonly desired: ReadonlyMap<string, Desired>;
  readonly now: Date;
  readonly take: (agent: A, standing: Standing) => T;
};

/**
 * Compares agents with the releases of their channels, by agent. A question costs the number of agents, of different sets of packages
 * and of assignments in trouble, and not of all assignments: of agents that comply, or that a rollout does not reach yet, no states are read.
 */
export const readStandings = async <A extends KnownAgent, T>(
  db: Database,
  agents: readonly A[],
  { desired, now, take }: StandingQuestion<A, T>,
): Promise<ReadonlyMap<A, T>> => {
  const wantedOf = packagesOf(desired);
  const taken = new Map<A, T>();
  const differing: A[] = [];
  for (const agent of agents) {
    const { checked_at: checkedAt, settled_at: settledAt } = agent;
    if (complies(agent, wantedOf(agent)))
      taken.set(agent, take(agent, { kind: 'complies', checkedAt, settledAt }));
    else differing.push(agent);
  }
  const judged = await judgeDiffering(db, differing, desired, now);
  const changed: A[] = [];
  for (const agent of differing) {
    const rows = judged.get(agent.id);
    if (rows?.some(({ verdict }) => verdict !== 'complies'))
      taken.set(agent, take(agent, { kind: 'differs', rows }));
    else changed.push(agent);
  }
  const toActual = withoutStates(now);
  // Agents of which a report came between two statements: all of their states are read at once.
  for (let start = 0; start < changed.length; start += NAMES) {
    const part = changed.slice(start, start + NAMES);
    const states = await readStates(db, { agents: part.map(({ id }) => id) });
    for (const row of part) {
      const agent = { ...toActual(row), states: states.get(row.id) ?? [] };
      const release = desired.get(formatChannel(agent.channel)) ?? NONE;
      taken.set(row, take(row, { kind: 'differs', rows: judgeAssignments(release, agent) }));
    }
  }
  return taken;
};

/** The digest of the packages that the channel of an agent has; undefined: it has no release. */
const packagesOf = (
  desired: ReadonlyMap<string, Desired>,
): ((agent: Pick<KnownAgent, 'environment' | 'cluster_type'>) => Digest | undefined) => {
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

const complies = ({ packages, troubles }: KnownAgent, wanted: Digest | undefined): boolean =>
  packages !== null && packages === wanted && troubles === 0;
