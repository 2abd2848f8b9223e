import { defined } from '#bundles/defined';
import { FleetError } from '#bundles/errors';
import { COMPACTED } from '#bundles/formats/events/compacted';
import { formatChannel } from '#bundles/names';
import type { Event } from '#bundles/formats/events/event';
import { formatTime, type Timestamp } from '#bundles/time';
import type { Store } from '../../store/open-store.ts';
import { overwrite } from '../../store/overwrite.ts';
import { parts } from '../../store/parts.ts';
import type { AgentRow, EventRow, ReportRow, Tx } from '../../store/tables.ts';
import { updateAgentStates } from './agent-state.ts';
import { describedTimes } from './described-times.ts';
import { findFallenFloors } from './check-floors.ts';
import { type Comparison, compareChain, type Difference, type StoredSpan } from './compare-chain.ts';
import { type Head, headAfter } from './find-head.ts';
import { foldHold } from './fold-hold.ts';
import { foldLocal } from './fold-local.ts';
import { foldReboot } from './fold-reboot.ts';
import type { JudgedReport } from './judge-report.ts';
import { nextNumber } from './next-number.ts';
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

/** A verified report that arrived, and its agent as the report was verified with. */
export type Arrival = {
  readonly report: JudgedReport;
  readonly agent: AgentRow;
  readonly received: Received;
};

/**
 * Stores a verified report in one transaction: its events, the assignment states, the head of the chain, and alarms.
 * @throws FleetError AGENT_UNKNOWN if the agent was revoked or given another key meanwhile; STORE_NEWER, BUSY, DISK_FULL
 */
export const ingestReport = async (
  store: Store,
  report: JudgedReport,
  agent: AgentRow,
  received: Received,
): Promise<Ingested> => {
  const [ingested] = await store.transact((tx) => ingestReports(tx, [{ report, agent, received }]));
  return ingested as Ingested;
};

/** A report that arrived, with the rows that it is compared with and becomes. */
type Compared = {
  readonly report: JudgedReport;
  readonly agent: AgentRow;
  readonly row: ReportRow;
  readonly stored: readonly StoredSpan[];
  readonly comparison: Comparison;
};

type Accepted = Omit<Compared, 'comparison'> & {
  readonly difference: Difference;
  readonly fresh: readonly Event[];
};

/**
 * Stores reports of different agents within the caller's transaction, each step in one statement for all of them.
 * @returns results in the order of the reports @throws FleetError as ingestReport
 */
export const ingestReports = async (tx: Tx, arrivals: readonly Arrival[]): Promise<readonly Ingested[]> => {
  const compared = await compareReports(tx, arrivals);
  const accepted = compared.flatMap(accept);
  const fallen = accepted.length > 0 ? await storeReports(tx, accepted) : undefined;
  const results: Ingested[] = [];
  for (const { report, row, comparison } of compared) {
    if (comparison.kind === 'contradicts') {
      results.push(await quarantine(tx, report, { ...row, apart: 1 }, comparison));
      continue;
    }
    const alarms = fallen?.get(row.agent) ?? [];
    for (const message of alarms) await raiseAlarm(tx, row, { code: 'ROLLBACK', message, events: null });
    const { known } = comparison;
    results.push({ taken: freshOf(report, known).length, known: known.size, alarms, apart: undefined });
  }
  return results;
};

const compareReports = async (tx: Tx, arrivals: readonly Arrival[]): Promise<readonly Compared[]> => {
  const agents = await readAgents(
    tx,
    arrivals.map(({ agent }) => agent),
  );
  const first = await nextNumber(tx);
  const rows = arrivals.map(({ report, received }, at) =>
    toReportRow(report, agents[at] as AgentRow, received, first + at),
  );
  const stored = await readStored(tx, rows);
  return arrivals.map(({ report }, at) => {
    const [agent, row] = [agents[at] as AgentRow, rows[at] as ReportRow];
    const spans = stored.get(agent.id) ?? [];
    return { report, agent, row, stored: spans, comparison: compareChain(report, spans) };
  });
};

const accept = ({ comparison, ...rest }: Compared): readonly Accepted[] =>
  comparison.kind === 'fits'
    ? [{ ...rest, difference: comparison, fresh: freshOf(rest.report, comparison.known) }]
    : [];

const freshOf = ({ events }: JudgedReport, known: ReadonlySet<number>): readonly Event[] =>
  events.filter(({ seq }) => !known.has(seq));

/** @returns the floors that fell, by agent */
const storeReports = async (
  tx: Tx,
  accepted: readonly Accepted[],
): Promise<ReadonlyMap<string, readonly string[]>> => {
  const rows = accepted.map(({ row }) => row);
  await addReports(tx, rows);
  await updateStates(
    tx,
    accepted.map(({ row, fresh }) => ({ report: row, events: fresh })),
  );
  for (const { row, difference } of accepted) await openCompacted(tx, row, difference.opened);
  await insertEvents(tx, accepted.flatMap(toEventRows));
  for (const { row, report, fresh } of accepted) await foldLocal(tx, row, fresh, lineIn(report));
  await updateAgents(tx, accepted);
  await updateAgentStates(tx, rows);
  return await findFallenFloors(tx, accepted);
};

/** @returns the agents as they are now, in the same order */
const readAgents = async (tx: Tx, agents: readonly AgentRow[]): Promise<readonly AgentRow[]> => {
  const ids = agents.map(({ id }) => id);
  const found = await tx.selectFrom('agent').selectAll().where('id', 'in', ids).execute();
  const current = new Map(found.map((row) => [row.id, row]));
  return agents.map(({ id, key }) => {
    const now = current.get(id);
    if (now && now.key === key && now.revoked_at === null) return now;
    throw new FleetError('AGENT_UNKNOWN', `${id} was revoked or enrolled again while its report was read`);
  });
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

const addReports = async (tx: Tx, rows: readonly ReportRow[]): Promise<void> => {
  await tx
    .insertInto('report')
    .values(rows)
    .onConflict((conflict) => conflict.columns(['agent', 'life', 'digest']).doNothing())
    .execute();
};

/** Limit for evidence in an alarm: a longer report is reduced to the lines around the contradiction. */
const MAX_EVIDENCE_BYTES = 256 << 10;

/** Stores the report and its evidence with an alarm for a person to review. Its events do not change any state. */
const quarantine = async (
  tx: Tx,
  report: JudgedReport,
  row: ReportRow,
  { seq, message }: Extract<Comparison, { kind: 'contradicts' }>,
): Promise<Ingested> => {
  await addReports(tx, [row]);
  const at = report.spans.findIndex(({ to }) => to >= seq);
  const whole = report.lines.join('\n');
  const events =
    Buffer.byteLength(whole) <= MAX_EVIDENCE_BYTES
      ? whole
      : report.lines.slice(Math.max(0, at - 1), at + 2).join('\n');
  await raiseAlarm(tx, row, { code: 'REPORT_CHAIN', message, events });
  const apart = new FleetError('REPORT_CHAIN', `${message}; the report is kept apart`, {
    subject: row.agent,
    hint: 'The machine was restored from a copy, or two machines share its key: enrol it with a new key',
  });
  return { taken: 0, known: 0, alarms: [message], apart };
};

const insertEvents = async (tx: Tx, rows: readonly EventRow[]): Promise<void> => {
  for (const part of parts(rows)) await tx.insertInto('event').values(part).execute();
};

/** The columns of an event that are fields of it. */
export const eventColumns = ({ at, type, assignment, package: of, outcome, code }: Event) => ({
  at,
  type,
  assignment: assignment ?? null,
  package: of ?? null,
  outcome: outcome ?? null,
  code: code ?? null,
});

const toEventRows = ({
  report: { events, spans, lines },
  difference: { known, gaps },
  row,
}: Accepted): readonly EventRow[] => {
  const parts = Map.groupBy(gaps, ({ of }) => of);
  return events.flatMap((event, index): readonly EventRow[] => {
    const span = spans[index];
    if (!span || known.has(event.seq)) return [];
    const common = {
      agent: row.agent,
      life: row.life,
      ...eventColumns(event),
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
};

/** Columns of an agent that its reports change. */
const REPORTED = [
  'heard_at',
  'online_at',
  'said_at',
  'looks',
  'service',
  'first_seq',
  'head_seq',
  'head_hash',
  'release_version',
  'release_channel',
  'release_seq',
  'release_at',
  'held_seq',
  'held_at',
  'held_until',
  'held_by',
  'held_reason',
  'reboot_seq',
  'reboot',
] as const satisfies readonly (keyof AgentRow)[];

const updateAgents = async (tx: Tx, accepted: readonly Accepted[]): Promise<void> => {
  const rows: AgentRow[] = [];
  for (const one of accepted)
    rows.push({ ...one.agent, ...reportedBy(one, await headAfter(tx, one.agent, one)) });
  await tx
    .insertInto('agent')
    .values(rows)
    .onConflict((conflict) => conflict.column('id').doUpdateSet(overwrite(REPORTED)))
    .execute();
};

const reportedBy = (
  { agent, report, row, fresh }: Accepted,
  head: Head | undefined,
): Partial<Pick<AgentRow, (typeof REPORTED)[number]>> => {
  const { received_at: at, source } = row;
  const written = writtenTime(row);
  const { said_at: saidAt, looks, service } = describedTimes(report.predicate, written);
  const imported = fresh.findLast(({ type, release }) => type === 'imported' && release !== undefined);
  const newer = imported?.release && imported.seq > agent.release_seq ? imported.release : undefined;
  const lineOf = lineIn(report);
  return {
    heard_at: at,
    ...defined({ online_at: source === 'network' ? at : undefined }),
    ...(isNewest(agent, { words: saidAt ?? written, at }) &&
      defined({
        said_at: saidAt,
        looks,
        service,
      })),
    ...defined({ first_seq: head?.first, head_seq: head?.seq, head_hash: head?.hash }),
    ...foldHold(agent, fresh, lineOf),
    ...foldReboot(agent, fresh, lineOf),
    ...(newer &&
      imported && {
        release_version: newer.version,
        release_channel: formatChannel(newer),
        release_seq: imported.seq,
        release_at: imported.at,
      }),
  };
};

/** The signed lines of a report by event. */
const lineIn =
  ({ lines, events }: JudgedReport) =>
  ({ seq }: Event): string =>
    lines[events.findIndex((event) => event.seq === seq)] ?? '';

/** Whether words of this time are not older than those before. One ahead of the clock is of a clock that has been set back since. */
const isNewest = (
  { said_at: before }: Pick<AgentRow, 'said_at'>,
  { words, at }: { readonly words: Timestamp; readonly at: Timestamp },
): boolean => before === null || before > at || before <= words;

/**
 * When a report was written, by the clock of the hub. An agent on the network has nothing newer; one on a medium wrote it earlier, at a time
 * that is not after the arrival and not before the newest statement that the agent had seen.
 */
const writtenTime = ({ source, received_at, written_at, floor_time }: ReportRow): Timestamp => {
  if (source === 'network') return received_at;
  const written = written_at < floor_time ? floor_time : written_at;
  return written < received_at ? written : received_at;
};
