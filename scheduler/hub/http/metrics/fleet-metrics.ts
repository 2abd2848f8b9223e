import { Gauge, type Registry } from 'prom-client';
import { compareBytes } from '#bundles/digest';
import { parseJson } from '#bundles/json/parse-json';
import type { AlarmSubject } from '#bundles/schemas/types/hub-decisions';
import { parseTime } from '#bundles/time';
import { countDeployments, type DeploymentCount } from '../../questions/history/count-deployments.ts';
import type { Hub } from '../../hub.ts';
import type { Database } from '../../store/tables.ts';
import { add, type Bounded, boundSeries, MAX_SERIES, type Series } from './bound-series.ts';

export type FleetMetricsOptions = {
  readonly hub: Pick<Hub, 'store' | 'layout' | 'keys'>;
  /** Series of one metric that have a name of a site or a workload. */
  readonly most?: number;
  readonly countMs?: number;
};

/** How long one count answers scrapes: several Prometheus servers cost one. */
const COUNT_MS = 30_000;

/**
 * Registers the metrics that name sites, workloads and versions. Each has a bounded number of series, regardless of the size of
 * the fleet (docs/operations/alarms.md); the rest is added up as "other".
 */
export const registerFleetMetrics = (
  registry: Registry,
  { hub, most = MAX_SERIES, countMs = COUNT_MS }: FleetMetricsOptions,
): void => {
  const registers = [registry];
  const { db } = hub.store;
  const sites = atMostEvery(countMs, () => readSites(db));
  const bounded = {
    fleet_deployments: atMostEvery(countMs, async () => deploymentSeries(await countDeployments(hub), most)),
    fleet_site_assignments: async () => troubleSeries(await sites(), most),
    fleet_site_said_timestamp_seconds: async () => lookSeries(await sites(), most),
    fleet_open_alarms: atMostEvery(countMs, async () => alarmSeries(await countAlarms(db), most)),
  };
  register(registry, bounded.fleet_deployments, {
    name: 'fleet_deployments',
    help: 'Agents that run a version of a workload, by its state there: healthy, failed, drifted, unknown',
    labelNames: ['environment', 'workload', 'version', 'state'],
  });
  register(registry, bounded.fleet_site_assignments, {
    name: 'fleet_site_assignments',
    help: 'Assignments of a site that are failed, drifted, or whose health is unknown; none without trouble',
    labelNames: ['environment', 'site', 'state'],
  });
  register(registry, bounded.fleet_site_said_timestamp_seconds, {
    name: 'fleet_site_said_timestamp_seconds',
    help: 'Time that the newest message of an agent describes: the oldest of all agents of the site',
    labelNames: ['environment', 'site'],
  });
  register(registry, bounded.fleet_open_alarms, {
    name: 'fleet_open_alarms',
    help: 'Conditions that need a person now, by kind; without an environment: about the whole fleet',
    labelNames: ['kind', 'severity', 'environment'],
  });
  const beyond: Gauge<'metric'> = new Gauge({
    name: 'fleet_series_beyond_limit',
    help: 'Series that are added up as "other", by metric',
    labelNames: ['metric'],
    registers,
    collect: async () => {
      for (const [metric, read] of Object.entries(bounded)) beyond.set({ metric }, (await read()).beyond);
    },
  });
  const gates: Gauge<'from' | 'to' | 'state'> = new Gauge({
    name: 'fleet_gate_since_timestamp_seconds',
    help: 'Since when a link of the promotion chain is in its state',
    labelNames: ['from', 'to', 'state'],
    registers,
    collect: async () => {
      gates.reset();
      const rows = await db.selectFrom('gate_link').selectAll().execute();
      for (const { promoted_from: from, environment: to, state, since } of rows)
        gates.set({ from, to, state }, parseTime(since).getTime() / 1000);
    },
  });
};

const register = <Label extends string>(
  registry: Registry,
  read: () => Promise<Bounded<Label>>,
  described: { readonly name: string; readonly help: string; readonly labelNames: Label[] },
): void => {
  const gauge: Gauge<Label> = new Gauge({
    ...described,
    registers: [registry],
    collect: async () => {
      const { series } = await read();
      gauge.reset();
      for (const { labels, value } of series) gauge.set(labels, value);
    },
  });
};

/** Trouble first, however small. */
const deploymentSeries = (counts: readonly DeploymentCount[], most: number) => {
  const sorted = counts
    .map(({ agents: value, ...labels }) => ({ labels, value }))
    .toSorted(
      (a, b) =>
        Number(a.labels.state === 'healthy') - Number(b.labels.state === 'healthy') ||
        b.value - a.value ||
        compareBytes(JSON.stringify(a.labels), JSON.stringify(b.labels)),
    );
  return boundSeries<'environment' | 'workload' | 'version' | 'state'>(sorted, {
    folded: ['workload', 'version'],
    combine: add,
    most,
  });
};

/** A site without trouble has no series: there are thousands. */
const troubleSeries = (sites: readonly SiteRow[], most: number) => {
  const sorted = sites
    .flatMap(({ environment, site, failed, drifted, unknown }) =>
      Object.entries({ failed, drifted, unknown }).map(([state, value]) => ({
        labels: { environment, site, state },
        value,
      })),
    )
    .filter(({ value }) => value > 0)
    .toSorted((a, b) => b.value - a.value);
  return boundSeries<'environment' | 'site' | 'state'>(sorted, { folded: ['site'], combine: add, most });
};

/** The oldest first. */
const lookSeries = (sites: readonly SiteRow[], most: number) => {
  const sorted = sites
    .flatMap(({ environment, site, said }) =>
      said === null ? [] : [{ labels: { environment, site }, value: parseTime(said).getTime() / 1000 }],
    )
    .toSorted((a, b) => a.value - b.value);
  return boundSeries<'environment' | 'site'>(sorted, { folded: ['site'], combine: Math.min, most });
};

const alarmSeries = (alarms: readonly Series<AlarmLabel>[], most: number) =>
  boundSeries<AlarmLabel>(alarms, { folded: ['environment'], combine: add, most });

type SiteRow = {
  readonly environment: string;
  readonly site: string;
  readonly said: string | null;
  readonly failed: number;
  readonly drifted: number;
  readonly unknown: number;
};

const readSites = async (db: Database): Promise<readonly SiteRow[]> =>
  await db
    .selectFrom('agent')
    .leftJoin('agent_state as state', 'state.agent', 'agent.id')
    .select(({ fn, val }) => [
      'agent.environment',
      'agent.site',
      fn.min('agent.said_at').as('said'),
      fn.coalesce(fn.sum<number>('state.failed'), val(0)).as('failed'),
      fn.coalesce(fn.sum<number>('state.drifted'), val(0)).as('drifted'),
      fn.coalesce(fn.sum<number>('state.unknown'), val(0)).as('unknown'),
    ])
    .where('agent.revoked_at', 'is', null)
    .groupBy(['agent.environment', 'agent.site'])
    .execute();

type AlarmLabel = 'kind' | 'severity' | 'environment';

const countAlarms = async (db: Database): Promise<readonly Series<AlarmLabel>[]> => {
  const rows = await db
    .selectFrom('open_alarm')
    .select(['kind', 'severity', 'subject'])
    .where('gone_at', 'is', null)
    .execute();
  const labelled = rows.map(({ kind, severity, subject }) => {
    const { environment = '' } = parseJson(subject) as AlarmSubject;
    return { kind, severity, environment };
  });
  return [...Map.groupBy(labelled, (labels) => JSON.stringify(labels)).values()].flatMap((alike) =>
    alike[0] ? [{ labels: alike[0], value: alike.length }] : [],
  );
};

/** Shares one result among all calls within `ms`. A failure is not kept. */
const atMostEvery = <T>(ms: number, read: () => Promise<T>): (() => Promise<T>) => {
  let last: { readonly found: Promise<T>; readonly at: number } | undefined;
  return async () => {
    const now = performance.now();
    if (last === undefined || now - last.at >= ms) last = { found: read(), at: now };
    const mine = last;
    return mine.found.catch((error: unknown) => {
      if (last === mine) last = undefined;
      throw error;
    });
  };
};
