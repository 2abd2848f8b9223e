import type { Digest } from '#bundles/digest';
import { parseChannel } from '#bundles/names';
import { formatTime, type Timestamp } from '#bundles/time';
import { findGaps, type Gap } from '../reports/find-head.ts';
import { channelOf, labelsOf } from '../sites/agent-record.ts';
import { cutPage, decodeCursor, type Page } from '../page.ts';
import type { AgentRow, AlarmRow, AssignmentStateRow, Database, ReportRow } from '../store/tables.ts';
import { isIn, type Part } from './part.ts';
import { agentAssignment, readFailedChecks } from './read-failed-checks.ts';
import { silentSince } from './silent-since.ts';
import type { ActualAgent, ActualState, Cell, FailedCheck, Source } from './what-runs-where.ts';

export type ActualFilter = { readonly environment?: string | undefined; readonly site?: string | undefined };

/** The reported state of agents, gaps in their events, and alarms. */
export type Actual = {
  readonly agents: readonly ActualAgent[];
  readonly gaps: readonly { readonly agent: string; readonly gaps: readonly Gap[] }[];
  /** Without the events kept as evidence. */
  readonly alarms: readonly Omit<AlarmRow, 'events'>[];
  /** Cursor of the next page; null: there is none. */
  readonly next: string | null;
};

type AgentReports = ReadonlyMap<Digest, Source>;
type Checks = ReadonlyMap<string, readonly FailedCheck[]>;

/** Reads agents that are not revoked, with the states of their assignments. @param page counts agents */
export const readActual = async (
  db: Database,
  { environment, site }: ActualFilter,
  now: Date,
  page?: Page,
): Promise<Actual> => {
  let query = db.selectFrom('agent').selectAll().where('revoked_at', 'is', null).orderBy('id');
  if (environment !== undefined) query = query.where('environment', '=', environment);
  if (site !== undefined) query = query.where('site', '=', site);
  if (page) query = query.limit(page.limit + 1);
  if (page?.cursor !== undefined) query = query.where('id', '>', decodeCursor(page.cursor, [''] as const)[0]);
  const all = await query.execute();
  const { rows, next } = page ? cutPage(all, page.limit, ({ id }) => [id]) : { rows: all, next: null };
  const part: Part = { site, page: page && [rows[0]?.id ?? '', rows.at(-1)?.id ?? ''] };
  const known = new Set(rows.map(({ id }) => id));
  const states = Map.groupBy(await readStates(db, part), ({ agent }) => agent);
  const reports = Map.groupBy(await readReports(db, part), ({ agent }) => agent);
  const newest = await readNewest(db, part);
  const checks = await readFailedChecks(db, part);
  const gaps: { agent: string; gaps: readonly Gap[] }[] = [];
  for (const row of rows) {
    if ((newest.get(row.id) ?? 0) > row.head_seq) gaps.push({ agent: row.id, gaps: await findGaps(db, row) });
  }
  const alarms = await db
    .selectFrom('alarm')
    .select(['id', 'agent', 'code', 'message', 'report', 'raised_at'])
    .orderBy('raised_at')
    .orderBy('id')
    .execute();
  const times = { since: silentSince(now), at: formatTime(now) };
  return {
    agents: rows.map((row) => {
      const sources = sourcesOf(reports.get(row.id) ?? []);
      const said = (states.get(row.id) ?? []).map((state) => toState(state, sources, checks));
      return toAgent(row, said, sources.size > 0, times);
    }),
    next,
    gaps,
    alarms: alarms.filter(({ agent }) => known.has(agent)),
  };
};

const readStates = (db: Database, part: Part): Promise<readonly AssignmentStateRow[]> => {
  const query = db
    .selectFrom('assignment_state')
    .innerJoin('agent', 'agent.id', 'assignment_state.agent')
    .selectAll('assignment_state');
  return query.where(isIn(part)).execute();
};

type ReportSource = Omit<
  ReportRow,
  'statement' | `floor_${string}` | 'written_at' | 'channel' | 'life' | 'apart' | 'number'
>;

/** The reports of each agent's current life, without the signed statements. */
const readReports = (db: Database, part: Part): Promise<readonly ReportSource[]> => {
  const query = db
    .selectFrom('report')
    .innerJoin('agent', (join) =>
      join.onRef('agent.id', '=', 'report.agent').onRef('agent.life', '=', 'report.life'),
    )
    .select([
      'report.agent',
      'report.digest',
      'report.first_seq',
      'report.last_seq',
      'report.source',
      'report.received_at',
      'report.clock_trusted',
    ])
    .where('report.apart', '=', 0);
  return query.where(isIn(part)).execute();
};

const readNewest = async (db: Database, part: Part): Promise<ReadonlyMap<string, number>> => {
  const query = db
    .selectFrom('report')
    .innerJoin('agent', (join) =>
      join.onRef('agent.id', '=', 'report.agent').onRef('agent.life', '=', 'report.life'),
    )
    .select(({ fn }) => ['report.agent', fn.max('report.last_seq').as('seq')])
    .where('report.apart', '=', 0)
    .groupBy('report.agent');
  const rows = await query.where(isIn(part)).execute();
  return new Map(rows.map(({ agent, seq }) => [agent, seq]));
};

const sourcesOf = (reports: readonly ReportSource[]): AgentReports =>
  new Map(
    reports.map((row) => [
      row.digest,
      {
        report: row.digest,
        from: row.first_seq,
        to: row.last_seq,
        by: row.source,
        receivedAt: row.received_at,
        clockTrusted: row.clock_trusted === 1,
      },
    ]),
  );

const toAgent = (
  row: AgentRow,
  states: readonly ActualState[],
  reported: boolean,
  { since, at }: { readonly since: Timestamp; readonly at: Timestamp },
): ActualAgent => ({
  site: row.site,
  agent: row.name,
  channel: channelOf(row),
  labels: labelsOf(row),
  enrolledAt: row.enrolled_at,
  reported,
  heardAt: row.heard_at,
  saidAt: row.said_at,
  silent: row.online_at !== null && row.online_at < since,
  held:
    row.held_at === null || (row.held_until !== null && row.held_until <= at)
      ? null
      : { since: row.held_at, until: row.held_until, by: row.held_by, reason: row.held_reason },
  accepted:
    row.release_version === null || row.release_channel === null || row.release_at === null
      ? null
      : {
          channel: row.release_channel,
          version: row.release_version,
          at: row.release_at,
        },
  states,
});

const toState = (row: AssignmentStateRow, reports: AgentReports, checks: Checks): ActualState => ({
  assignment: row.assignment,
  running: cell(row.running_seq, row.running_at, row.running_report, reports, {
    package: row.package,
    siteValues: row.site_values,
    version: row.release_version,
  }),
  health: cell(row.outcome_seq, row.outcome_at, row.outcome_report, reports, {
    outcome: row.outcome,
    type: row.outcome_type ?? '',
    code: row.code,
    message: row.message,
    checks: checks.get(agentAssignment(row.agent, row.assignment)),
  }),
  drift: cell(row.drift_seq, row.drift_at, row.drift_report, reports, {
    drifted: row.drifted === 1,
    message: row.drift_message,
  }),
});

const cell = <T>(
  seq: number,
  at: string | null,
  report: Digest | null,
  reports: AgentReports,
  value: T,
): Cell<T> | null => {
  const source = report === null ? undefined : reports.get(report);
  return at === null || source === undefined ? null : { ...value, seq, at, source };
};

/** The channels that the agents follow, each once. */
export const channelsOf = (agents: readonly ActualAgent[]) =>
  [...new Set(agents.map(({ channel }) => `${channel.environment}/${channel.clusterType}`))].map(
    parseChannel,
  );
