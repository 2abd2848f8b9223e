import { sql } from 'kysely';
import type { Digest } from '#bundles/digest';
import { findGaps, type Gap } from '../../ingest/reports/find-head.ts';
import type { Visible } from '../../people/visible.ts';
import { cutPage, type Page } from '../../page.ts';
import { needsAttention } from '../../store/add-troubles.ts';
import { parts } from '../../store/parts.ts';
import type { AlarmRow, AssignmentStateRow, Database, ReportRow } from '../../store/tables.ts';
import { valuesTable } from '../../store/values-table.ts';
import { isIn, type Part } from './part.ts';
import { readAgents, withoutStates } from './read-agents.ts';
import { agentAssignment, readFailedChecks, WITH_CHECKS } from './read-failed-checks.ts';
import type { ActualAgent, ActualState, Cell, FailedCheck, Source } from './what-runs-where.ts';

export type ActualFilter = {
  readonly environment?: string | undefined;
  readonly clusterType?: string | undefined;
  readonly site?: string | undefined;
  /** Limits of what the caller may see; undefined: no limits. */
  readonly visible?: Visible | undefined;
};

/** The reported state of agents, gaps in their events, and alarms. */
export type Actual = {
  readonly agents: readonly ActualAgent[];
  readonly gaps: readonly { readonly agent: string; readonly gaps: readonly Gap[] }[];
  /** Without the events kept as evidence. */
  readonly alarms: readonly Omit<AlarmRow, 'events'>[];
  /** Cursor of the next page; null on the last page. */
  readonly next: string | null;
};

type AgentReports = ReadonlyMap<Digest, Source>;
type Checks = ReadonlyMap<string, readonly FailedCheck[]>;

/** Reads agents that are not revoked, with the states of their assignments. @param page counts agents */
export const readActual = async (
  db: Database,
  filter: ActualFilter,
  now: Date,
  page?: Page,
): Promise<Actual> => {
  const all = await readAgents(db, filter, page);
  const { rows, next } = page ? cutPage(all, page.limit, ({ id }) => [id]) : { rows: all, next: null };
  const part: Part = { ...filter, page: page && [rows[0]?.id ?? '', rows.at(-1)?.id ?? ''] };
  const states = await readStates(db, part);
  const gaps: { agent: string; gaps: readonly Gap[] }[] = [];
  for (const row of rows) {
    if ((row.newest_seq ?? 0) > row.head_seq) gaps.push({ agent: row.id, gaps: await findGaps(db, row) });
  }
  const toActual = withoutStates(now);
  return {
    agents: rows.map((row) => ({ ...toActual(row), states: states.get(row.id) ?? [] })),
    next,
    gaps,
    alarms: await readAlarms(db, part),
  };
};

/** The states of the agents' assignments, by agent. @param only 'in trouble': those that failed, drifted, or could not be checked */
export const readStates = async (
  db: Database,
  part: Part,
  only: 'all' | 'in trouble' = 'all',
): Promise<ReadonlyMap<string, readonly ActualState[]>> => {
  let query = db
    .selectFrom('assignment_state')
    .innerJoin('agent', 'agent.id', 'assignment_state.agent')
    .selectAll('assignment_state')
    .select('agent.life')
    .where('agent.revoked_at', 'is', null)
    .where(isIn(part));
  if (only === 'in trouble') query = query.where(needsAttention('assignment_state'));
  const rows = await query.execute();
  const reports = Map.groupBy(await readReports(db, rows), ({ agent }) => agent);
  // Most parts of a fleet have none.
  const checks = rows.some(({ code }) => WITH_CHECKS.some((one) => one === code))
    ? await readFailedChecks(db, part)
    : new Map<string, readonly FailedCheck[]>();
  const known = new Map<string, ActualState[]>();
  for (const [agent, states] of Map.groupBy(rows, (row) => row.agent)) {
    const sources = sourcesOf(reports.get(agent) ?? []);
    known.set(
      agent,
      states.map((state) => toState(state, sources, checks)),
    );
  }
  return known;
};

const readAlarms = (db: Database, part: Part): Promise<Actual['alarms']> =>
  db
    .selectFrom('alarm')
    .innerJoin('agent', 'agent.id', 'alarm.agent')
    .select(['alarm.id', 'alarm.agent', 'alarm.code', 'alarm.message', 'alarm.report', 'alarm.raised_at'])
    .where('agent.revoked_at', 'is', null)
    .where(isIn(part))
    .orderBy('alarm.raised_at')
    .orderBy('alarm.id')
    .execute();

type ReportSource = Pick<
  ReportRow,
  'agent' | 'digest' | 'first_seq' | 'last_seq' | 'source' | 'received_at' | 'clock_trusted'
>;

/** Rows of one statement, below the parameter limits of the databases. */
const ROWS = 5000;

/** The reports that states come from: a few of each agent. */
const readReports = async (
  db: Database,
  states: readonly (AssignmentStateRow & { readonly life: number })[],
): Promise<readonly ReportSource[]> => {
  const named = new Map<string, readonly [string, number, Digest]>();
  for (const { agent, life, running_report, outcome_report, drift_report } of states)
    for (const digest of [running_report, outcome_report, drift_report])
      if (digest !== null) named.set(`${agent} ${digest}`, [agent, life, digest]);
  const asked = [...named.values()];
  const found: ReportSource[] = [];
  for (const part of parts(asked, ROWS)) {
    const { rows } = await sql<ReportSource>`
      with asked(agent, life, digest) as (${valuesTable(['text', 'bigint', 'text'], part)})
      select report.agent, report.digest, report.first_seq, report.last_seq, report.source,
        report.received_at, report.clock_trusted
      from asked cross join report
      where report.agent = asked.agent and report.life = asked.life and report.digest = asked.digest`.execute(
      db,
    );
    found.push(...rows);
  }
  return found;
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
