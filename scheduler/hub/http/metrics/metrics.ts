import { sql } from 'kysely';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { formatTime } from '#bundles/time';
import {
  FRESHNESS,
  type Freshness,
  freshnessOf,
  freshnessPolicyFor,
} from '../../questions/state/freshness.ts';
import { readFreshness } from '../../questions/state/freshness-policies.ts';
import { silentSince } from '../../questions/state/silent-since.ts';
import type { Database } from '../../store/tables.ts';

export type Metrics = {
  readonly registry: Registry;
  readonly requests: Counter<'method' | 'route' | 'code'>;
  readonly seconds: Histogram<'route'>;
  readonly reports: Counter<'result'>;
  readonly events: Counter<'result'>;
  readonly notifications: Counter<'from' | 'result'>;
  readonly enrolments: Counter<'result'>;
  readonly certificates: Counter<'purpose'>;
  readonly published: Counter<'result'>;
  readonly alarmsDelivered: Counter<'receiver' | 'result'>;
  /** Expiry in Unix seconds. */
  readonly certificateEnds: Gauge<'of'>;
};

/** Buckets for the time since an agent was last heard. Agents are not labels of their own: a fleet has thousands. */
const AGES = [
  ['10m', 600_000],
  ['1h', 3_600_000],
  ['1d', 86_400_000],
  ['7d', 7 * 86_400_000],
] as const;

/** The metrics of /metrics. Counts of agents and alarms are read from the database at each scrape. */
export const createMetrics = (db: Database, clock: () => Date): Metrics => {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const agents = new Gauge({
    name: 'fleet_agents',
    help: 'Agents that are not revoked, by how long ago they were last heard of at most',
    labelNames: ['heard'],
    registers,
    collect: async () => {
      for (const [heard, count] of await countAgents(db, clock())) agents.set({ heard }, count);
    },
  });
  const silent = new Gauge({
    name: 'fleet_agents_silent',
    help: 'Agents that were online and are not heard any more; those that only media reach do not count',
    registers,
    collect: async () => {
      silent.set(await countSilent(db, clock()));
    },
  });
  const freshness = new Gauge({
    name: 'fleet_agents_freshness',
    help: 'Agents that are not revoked, by the age of their newest message under the freshness policies',
    labelNames: ['freshness'],
    registers,
    collect: async () => {
      const counts = await countFreshness(db, clock());
      for (const word of FRESHNESS) freshness.set({ freshness: word }, counts.get(word) ?? 0);
    },
  });
  const alarms = new Gauge({
    name: 'fleet_alarms',
    help: 'Reports that contradict what the hub knows: a broken chain (REPORT_CHAIN) or a store set back (ROLLBACK), of agents that are not revoked',
    registers,
    collect: async () => {
      alarms.set(await countAlarms(db));
    },
  });
  return {
    registry,
    requests: new Counter({
      name: 'fleet_hub_requests_total',
      help: 'Requests, by path and answer',
      labelNames: ['method', 'route', 'code'],
      registers,
    }),
    seconds: new Histogram({
      name: 'fleet_hub_request_seconds',
      help: "From the end of a request's head to the end of its answer",
      labelNames: ['route'],
      buckets: [0.005, 0.02, 0.1, 0.5, 2, 10, 60],
      registers,
    }),
    reports: new Counter({
      name: 'fleet_hub_reports_total',
      help: 'Reports over the network: taken, kept apart, refused',
      labelNames: ['result'],
      registers,
    }),
    events: new Counter({
      name: 'fleet_hub_events_total',
      help: 'Events over the network: taken, or known before',
      labelNames: ['result'],
      registers,
    }),
    notifications: new Counter({
      name: 'fleet_hub_notifications_total',
      help: 'Notifications of followers: taken, known before, older than what is known, noted without a fact',
      labelNames: ['from', 'result'],
      registers,
    }),
    enrolments: new Counter({
      name: 'fleet_hub_enrolments_total',
      help: 'Requests to be enrolled, by what came of them',
      labelNames: ['result'],
      registers,
    }),
    certificates: new Counter({
      name: 'fleet_hub_certificates_total',
      help: 'Certificates issued',
      labelNames: ['purpose'],
      registers,
    }),
    published: new Counter({
      name: 'fleet_site_statements_total',
      help: 'Site statements laid out and published, or not yet',
      labelNames: ['result'],
      registers,
    }),
    alarmsDelivered: new Counter({
      name: 'fleet_alarm_messages_total',
      help: 'Notices about alarms, by receiver: taken, refused, or unreachable and tried again',
      labelNames: ['receiver', 'result'],
      registers,
    }),
    certificateEnds: new Gauge({
      name: 'fleet_certificate_ends_timestamp_seconds',
      help: "When the hub's own certificate, the authority and the root end",
      labelNames: ['of'],
      registers,
    }),
  };
};

/** Agents by the smallest bucket that fits. Empty buckets are included as 0, so that graphs have no gaps. */
const countAgents = async (db: Database, now: Date): Promise<ReadonlyMap<string, number>> => {
  const since = AGES.map(([heard, ms]) => [heard, formatTime(new Date(now.getTime() - ms))] as const);
  const cases = sql.join(
    since.map(([heard, at]) => sql`when heard_at >= ${at} then ${heard}`),
    sql` `,
  );
  const { rows } = await sql<{ heard: string; agents: number }>`
    select case when heard_at is null then 'never' ${cases} else 'older' end as heard, count(*) as agents
    from agent where revoked_at is null group by 1`.execute(db);
  const empty = [...AGES.map(([heard]) => heard), 'older', 'never'].map((heard) => [heard, 0] as const);
  return new Map([...empty, ...rows.map(({ heard, agents }) => [heard, agents] as const)]);
};

const countSilent = async (db: Database, now: Date): Promise<number> => {
  const { agents } = await db
    .selectFrom('agent')
    .select(({ fn }) => fn.countAll<number>().as('agents'))
    .where('revoked_at', 'is', null)
    .where('online_at', '<', silentSince(now))
    .executeTakeFirstOrThrow();
  return agents;
};

const countFreshness = async (db: Database, now: Date): Promise<ReadonlyMap<Freshness, number>> => {
  const { policies } = await readFreshness(db);
  const agents = await db
    .selectFrom('agent')
    .select(['environment', 'cluster_type', 'said_at'])
    .where('revoked_at', 'is', null)
    .execute();
  const words = agents.map(({ environment, cluster_type: clusterType, said_at: saidAt }) =>
    freshnessOf(saidAt, freshnessPolicyFor(policies, { environment, clusterType }), now),
  );
  return new Map([...Map.groupBy(words, (word) => word)].map(([word, { length }]) => [word, length]));
};

const countAlarms = async (db: Database): Promise<number> => {
  const { alarms } = await db
    .selectFrom('alarm')
    .innerJoin('agent', 'agent.id', 'alarm.agent')
    .select(({ fn }) => fn.countAll<number>().as('alarms'))
    .where('agent.revoked_at', 'is', null)
    .executeTakeFirstOrThrow();
  return alarms;
};
