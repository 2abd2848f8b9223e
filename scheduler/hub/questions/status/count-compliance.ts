import { cutPage } from '../../page.ts';
import { type Freshness, freshnessOf, freshnessPolicyFor } from '../state/freshness.ts';
import { readFreshness } from '../state/freshness-policies.ts';
import { readAgents, withoutStates } from '../state/read-agents.ts';
import { readDesired } from '../state/read-desired.ts';
import { readStandings, type Standing } from '../state/read-standings.ts';
import type { ActualAgent, Verdict } from '../state/what-runs-where.ts';
import { isQuiet } from './attention.ts';
import type { StatusHub } from './read-status.ts';

/** Conditions of an agent, of which each agent has the first that holds. */
const CONDITIONS = [
  'neverReported',
  /** Some assignment failed, drifted, or is not as its release has it, however long ago it was heard. */
  'differs',
  /** It was on line and is not heard, or its service does not run: nothing looks after it. */
  'silent',
  /** Its last word is older than its freshness policy expects. */
  'late',
  /** The rollout does not include it yet, or its operator holds it. */
  'waiting',
  'complies',
] as const;
export type Condition = (typeof CONDITIONS)[number];

/** Agents of an environment by condition. */
export type ComplianceCounts = Readonly<Record<Condition, number>>;

/** Agents that are read in one statement. */
const AGENTS = 2000;

/** Counts the agents of each environment that has any. Costs the number of agents, and of assignments where agents differ. */
export const countCompliance = async (
  hub: StatusHub,
  now: Date,
): Promise<ReadonlyMap<string, ComplianceCounts>> => {
  const { db } = hub.store;
  const { policies } = await readFreshness(db);
  const channels = await db
    .selectFrom('agent')
    .select(['environment', 'cluster_type as clusterType'])
    .distinct()
    .where('revoked_at', 'is', null)
    .execute();
  const desired = await readDesired(hub.layout, channels, hub.keys.root);
  const toActual = withoutStates(now);
  const counts = new Map<string, ComplianceCounts>();
  let cursor: string | undefined;
  do {
    const page = { limit: AGENTS, cursor };
    const { rows, next } = cutPage(await readAgents(db, {}, page), AGENTS, ({ id }) => [id]);
    const verdicts = await readStandings(db, rows, {
      desired,
      now,
      take: verdictsOf,
    });
    for (const [at, row] of rows.entries()) {
      const { channel, reported, saidAt, silent, stopped } = toActual(row);
      const policy = freshnessPolicyFor(policies, channel);
      const freshness = freshnessOf(reported ? saidAt : null, policy, now);
      const condition = conditionOf(verdicts[at] ?? [], {
        reported,
        silent: silent || stopped === true,
        freshness,
      });
      const of = counts.get(row.environment) ?? { ...NOBODY };
      counts.set(row.environment, { ...of, [condition]: of[condition] + 1 });
    }
    cursor = next ?? undefined;
  } while (cursor !== undefined);
  return counts;
};

const NOBODY: ComplianceCounts = {
  neverReported: 0,
  differs: 0,
  silent: 0,
  late: 0,
  waiting: 0,
  complies: 0,
};

const verdictsOf = (standing: Standing): readonly Verdict[] =>
  standing.kind === 'complies' ? [] : standing.rows.map(({ verdict }) => verdict);

type Heard = Pick<ActualAgent, 'reported' | 'silent'> & { readonly freshness: Freshness };

const conditionOf = (verdicts: readonly Verdict[], { reported, silent, freshness }: Heard): Condition => {
  if (!reported) return 'neverReported';
  if (verdicts.some((verdict) => !isQuiet({ verdict, silent: false, freshness: 'fresh' }))) return 'differs';
  if (silent) return 'silent';
  if (freshness === 'late' || freshness === 'stale') return 'late';
  return verdicts.some((verdict) => verdict !== 'complies') ? 'waiting' : 'complies';
};
