import { FleetError } from '#bundles/errors';
import { COMPACTED } from '#bundles/formats/events/compacted';
import { formatChannel } from '#bundles/names';
import type { Event } from '#bundles/formats/events/event';
import { formatTime, type Timestamp } from '#bundles/time';
import type { Store } from '../../store/open-store.ts';
import type { AgentRow, EventRow, ReportRow, Tx } from '../../store/tables.ts';
import { updateAgentState } from './agent-state.ts';
import { findFallenFloors } from './check-floors.ts';
import { type Comparison, compareChain, type Difference } from './compare-chain.ts';
import { findHead } from './find-head.ts';
import { foldHold } from './fold-hold.ts';
import type { JudgedReport } from './judge-report.ts';
import { openCompacted, readStored } from './stored-spans.ts';
import { raiseAlarm } from './raise-alarm.ts';
import { updateStates } from './update-states.ts';

export type Received = { readonly source: string; readonly now: Date };

export type Ingested = {
  /** Numbers of new and of already known events. Repetition is allowed (REPORT_REPLAY is not raised). */
  readonly taken: number;
  readonly known: number;
  readonly alarms: readonly string[];
  /** REPORT_CHAIN if the report contradicts the stored events. Its events are kept only in the alarm. */
  readonly apart: FleetError | undefined;
};

/**
 * Stores a verified report in one transaction: its events, the assignment states, the head of the chain, and alarms.
 * @throws FleetError AGENT_UNKNOWN if the agent was revoked or given another key meanwhile, BUSY, DISK_FULL
 */
export const ingestReport = (
  store: Store,
  report: JudgedReport,
  agent: AgentRow,
  received: Received,
): Promise<Ingested> => store.transact((tx) => ingestReportIn(tx, report, agent, received));

/** The same within the caller's transaction. */
export const ingestReportIn = async (
  tx: Tx,
  report: JudgedReport,
  agent: AgentRow,
  received: Received,
): Promise<Ingested> => {
  const current = await readAgent(tx, agent);
  const row = toReportRow(report, current, received, await nextNumber(tx));
  const comparison = compareChain(report, await readStored(tx, row));
  if (comparison.kind === 'contradicts') return keepApart(tx, report, { ...row, apart: 1 }, comparison);
  await addReport(tx, row);
  const { known } = comparison;
  const fresh = report.events.filter(({ seq }) => !known.has(seq));
  await updateStates(tx, row, fresh);
  await openCompacted(tx, row, comparison.opened);
  await insertEvents(tx, report, comparison, row);
  const lines = linesOf(report);
  const lineOf = ({ seq }: Event): string => lines.get(seq) ?? '';
  await updateAgent(tx, current, fresh, row, foldHold(current, fresh, lineOf));
  await updateAgentState(tx, row);
  const fallen = await findFallenFloors(tx, current, row);
  const alarms: string[] = [];
  for (const message of fallen) {
    await raiseAlarm(tx, row, { code: 'ROLLBACK', message, events: null });
    alarms.push(message);
  }
  return { taken: fresh.length, known: known.size, alarms, apart: undefined };
};

const readAgent = async (tx: Tx, agent: AgentRow): Promise<AgentRow> => {
  const current = await tx.selectFrom('agent').selectAll().where('id', '=', agent.id).executeTakeFirst();
  if (current && current.key === agent.key && current.revoked_at === null) return current;
  throw new FleetError('AGENT_UNKNOWN', `${agent.id} was revoked or enrolled anew while its report was read`);
};

/** The number of the next report to be stored (ReportRow.number). */
export const nextNumber = async (tx: Tx): Promise<number> => {
  const { last } = await tx
    .selectFrom('report')
    .select(({ fn }) => fn.max('number').as('last'))
    .executeTakeFirstOrThrow();
  return (last ?? 0) + 1;
};

const toReportRow = (
  report: JudgedReport,
  agent: AgentRow,
  { source, now }: Received,
  number: number,
): ReportRow => {
  const { predicate, events, digest, statement } = report;
  const { floors } = predicate;
  const release = events.findLast((event) => event.release !== undefined)?.release;
  return {
    agent: agent.id,
    life: agent.life,
    digest,
    first_seq: predicate.from,
    last_seq: predicate.to,
    source,
    received_at: formatTime(now),
    written_at: predicate.time,
    clock_trusted: predicate.clockTrusted ? 1 : 0,
    channel: release ? formatChannel(release) : null,
    floor_root: floors.root,
    floor_site: floors.site,
    floor_release: floors.release,
    floor_lease: floors.lease,
    floor_time: floors.time,
    statement,
    apart: 0,
    number,
  };
};

const linesOf = ({ events, lines }: JudgedReport): ReadonlyMap<number, string> =>
  new Map(events.map(({ seq }, index) => [seq, lines[index] ?? '']));

const addReport = async (tx: Tx, row: ReportRow): Promise<void> => {
  await tx
    .insertInto('report')
    .values(row)
    .onConflict((conflict) => conflict.columns(['agent', 'life', 'digest']).doNothing())
    .execute();
};

/** Limit for evidence in an alarm: a longer report is reduced to the lines around the contradiction. */
const MAX_EVIDENCE_BYTES = 256 << 10;

/** Stores the report and its evidence with an alarm for a person to review. Its events do not change any state. */
const keepApart = async (
  tx: Tx,
  report: JudgedReport,
  row: ReportRow,
  { seq, message }: Extract<Comparison, { kind: 'contradicts' }>,
): Promise<Ingested> => {
  await addReport(tx, row);
  const at = report.spans.findIndex(({ to }) => to >= seq);
  const whole = report.lines.join('\n');
  const events =
    Buffer.byteLength(whole) <= MAX_EVIDENCE_BYTES
      ? whole
      : report.lines.slice(Math.max(0, at - 1), at + 2).join('\n');
  await raiseAlarm(tx, row, { code: 'REPORT_CHAIN', message, events });
  const apart = new FleetError('REPORT_CHAIN', `${message}; the report is kept apart`, {
    subject: row.agent,
    hint: 'The machine was put back from a copy, or two machines share its key: enrol it with a new key',
  });
  return { taken: 0, known: 0, alarms: [message], apart };
};

/** Rows of one INSERT: SQLite binds 32,766 values at most, PostgreSQL 65,535. */
const ROWS = 500;

const insertEvents = async (
  tx: Tx,
  { events, spans, lines }: JudgedReport,
  { known, gaps }: Difference,
  row: ReportRow,
): Promise<void> => {
  const parts = Map.groupBy(gaps, ({ of }) => of);
  const rows = events.flatMap((event, index): readonly EventRow[] => {
    const span = spans[index];
    if (!span || known.has(event.seq)) return [];
    const common = {
      agent: row.agent,
      life: row.life,
      at: event.at,
      type: event.type,
      assignment: event.assignment ?? null,
      package: event.package ?? null,
      outcome: event.outcome ?? null,
      code: event.code ?? null,
      report: row.digest,
      line: lines[index] ?? '',
    };
    if (event.type === COMPACTED)
      return (parts.get(event.seq) ?? []).map(({ seq, to, prev, hash }) => ({
        ...common,
        seq,
        hash,
        prev,
        last_seq: to,
      }));
    return [{ ...common, seq: span.seq, hash: span.hash, prev: span.prev, last_seq: null }];
  });
  for (let start = 0; start < rows.length; start += ROWS)
    await tx
      .insertInto('event')
      .values(rows.slice(start, start + ROWS))
      .execute();
};

const updateAgent = async (
  tx: Tx,
  agent: AgentRow,
  fresh: readonly Event[],
  report: ReportRow,
  held: Partial<AgentRow> | undefined,
): Promise<void> => {
  const { received_at: at, source } = report;
  const saidAt = describedTime(report);
  const head = await findHead(tx, agent);
  const imported = fresh.findLast(({ type, release }) => type === 'imported' && release !== undefined);
  const newer = imported?.release && imported.seq > agent.release_seq ? imported.release : undefined;
  await tx
    .updateTable('agent')
    .set({
      heard_at: at,
      ...(source === 'network' && { online_at: at }),
      ...((agent.said_at === null || agent.said_at < saidAt) && { said_at: saidAt }),
      ...(head && { first_seq: head.first, head_seq: head.seq, head_hash: head.hash }),
      ...held,
      ...(newer &&
        imported && {
          release_version: newer.version,
          release_channel: formatChannel(newer),
          release_seq: imported.seq,
          release_at: imported.at,
        }),
    })
    .where('id', '=', agent.id)
    .execute();
};

/**
 * The time that a report describes. An agent on the network has nothing newer; one on a medium wrote it earlier, at a time that is
 * not after the arrival and not before the newest statement that the agent had seen.
 */
const describedTime = ({ source, received_at, written_at, floor_time }: ReportRow): Timestamp => {
  if (source === 'network') return received_at;
  const written = written_at < floor_time ? floor_time : written_at;
  return written < received_at ? written : received_at;
};
