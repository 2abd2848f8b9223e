import { digestOf } from '#bundles/digest';
import { compactedSpan, type Span } from '#bundles/formats/events/compacted';
import type { Event } from '#bundles/formats/events/event';
import { parseJson } from '#bundles/json/parse-json';
import type { SignedReport } from '#bundles/trust/reports/report';
import type { Database, EventRow, ReportRow } from '../../store/tables.ts';

export type RestoredReports = {
  /** Oldest first, with the numbers of the first and last event. */
  readonly reports: readonly (SignedReport & { readonly first: number; readonly last: number })[];
  /** Reports whose events the hub does not have as they were signed. */
  readonly lost: number;
};

/** Reports of an agent with events after a number, as the agent signed them: from the statements and the stored events. */
export const restoreReports = async (
  db: Database,
  { id, life, after }: { readonly id: string; readonly life: number; readonly after: number },
): Promise<RestoredReports> => {
  const rows = await db
    .selectFrom('report')
    .select(['digest', 'first_seq', 'last_seq', 'statement'])
    .where('agent', '=', id)
    .where('life', '=', life)
    .where('apart', '=', 0)
    .where('last_seq', '>', after)
    .orderBy('last_seq')
    .orderBy('first_seq')
    .execute();
  const reports: RestoredReports['reports'][number][] = [];
  for (const row of rows) {
    const stored = await db
      .selectFrom('event')
      .select(['seq', 'last_seq', 'report', 'line'])
      .where('agent', '=', id)
      .where('life', '=', life)
      .where('seq', '>=', row.first_seq)
      .where('seq', '<=', row.last_seq)
      .orderBy('seq')
      .execute();
    const events = restoreEvents(row, stored);
    if (events)
      reports.push({
        first: row.first_seq,
        last: row.last_seq,
        statement: Buffer.from(row.statement),
        events,
      });
  }
  return { reports, lost: rows.length - reports.length };
};

type Stored = Pick<EventRow, 'seq' | 'last_seq' | 'report' | 'line'>;

/**
 * The bytes that a report signed. Its compacted events may be stored in several rows, each with the whole line, and events that
 * other reports brought may lie within them.
 * @returns undefined if an event is gone or another one
 */
const restoreEvents = (
  { digest, first_seq: first, last_seq: last }: Pick<ReportRow, 'digest' | 'first_seq' | 'last_seq'>,
  stored: readonly Stored[],
): Buffer | undefined => {
  const runs: (Pick<Span, 'seq' | 'to'> & { readonly line: string })[] = [];
  const covered = (from: number, to: number): boolean => runs.some((run) => run.seq <= to && run.to >= from);
  const compacted = stored.filter(({ last_seq: end }) => end !== null);
  const others = compacted.filter(({ report }) => report !== digest);
  for (const { line } of [...compacted.filter(({ report }) => report === digest), ...others]) {
    const span = compactedSpan(parseJson(line) as Event);
    if (span && span.seq >= first && span.to <= last && !covered(span.seq, span.to))
      runs.push({ ...span, line });
  }
  const single = stored.filter(({ seq, last_seq: end }) => end === null && !covered(seq, seq));
  const text = [...runs, ...single]
    .toSorted((a, b) => a.seq - b.seq)
    .map(({ line }) => line)
    .join('\n');
  return [`${text}\n`, text].map((one) => Buffer.from(one)).find((bytes) => digestOf(bytes) === digest);
};
