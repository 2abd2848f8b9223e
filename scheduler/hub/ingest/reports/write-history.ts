import type { Event } from '#bundles/formats/events/event';
import { parseJson } from '#bundles/json/parse-json';
import type { HistoryRow } from '../../store/history-row.ts';
import { parts } from '../../store/parts.ts';
import type { ReportRow, Tx } from '../../store/tables.ts';
import { type Fact, factsOf, startOf } from './facts.ts';

/** The report that facts come from. */
export type FactSource = Pick<ReportRow, 'agent' | 'life' | 'digest' | 'received_at' | 'number'>;

/** A fact with the time of its event. */
export type TimedFact = Fact & Pick<Event, 'at'>;

const toRow = ({ at, ...fact }: TimedFact, report: Omit<FactSource, 'number'>): HistoryRow => ({
  agent: report.agent,
  assignment: fact.assignment,
  field: fact.field,
  life: report.life,
  seq: fact.seq,
  value: fact.value,
  observed_at: at < report.received_at ? at : report.received_at,
  received_at: report.received_at,
  report: report.digest,
});

/** Stores facts that are newer than all that is known of their fields and change them. */
export const writeChanges = async (
  tx: Tx,
  changes: readonly { readonly report: FactSource; readonly fact: TimedFact }[],
): Promise<void> => {
  const rows = changes.map(({ report, fact }) => toRow(fact, report));
  for (const part of parts(rows)) await tx.insertInto('history').values(part).execute();
};

/**
 * Stores a fact that may be older than what is known of its field. It adds a row where it differs from the value before it, and
 * one for the next known event where that differs from it: that event only confirmed a value until now.
 */
export const writeLate = async (tx: Tx, report: FactSource, fact: TimedFact): Promise<void> => {
  const before = await valueBefore(tx, report, fact);
  const rows = [
    ...(before === fact.value ? [] : [toRow(fact, report)]),
    ...(await nextIfDifferent(tx, report, fact)),
  ];
  if (rows.length === 0) return;
  await tx
    .insertInto('history')
    .values(rows)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
};

const valueBefore = async (tx: Tx, report: FactSource, fact: Fact): Promise<string | null> => {
  const row = await tx
    .selectFrom('history')
    .select('value')
    .where('agent', '=', report.agent)
    .where('life', '=', report.life)
    .where('assignment', '=', fact.assignment)
    .where('field', '=', fact.field)
    .where('seq', '<', fact.seq)
    .orderBy('seq', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row ? row.value : startOf(fact.field);
};

/** Events read at a time in search of the next one about a field. */
const NEXT_EVENTS = 50;

const nextIfDifferent = async (
  tx: Tx,
  report: FactSource,
  fact: TimedFact,
): Promise<readonly HistoryRow[]> => {
  let from = fact.seq;
  for (;;) {
    const events = await knownEvents(tx, report, fact.assignment, from);
    for (const row of events) {
      const event = parseJson(row.line) as Event;
      const next = factsOf(event).find(({ field }) => field === fact.field);
      if (!next) continue;
      return next.value === fact.value
        ? []
        : [toRow({ ...next, at: event.at }, { ...report, digest: row.report, received_at: row.received_at })];
    }
    const last = events.at(-1);
    if (!last || events.length < NEXT_EVENTS) return [];
    from = last.seq;
  }
};

/** Events after `seq` that earlier reports brought. */
const knownEvents = (tx: Tx, report: FactSource, assignment: string, seq: number) =>
  tx
    .selectFrom('event')
    .innerJoin('report', (join) =>
      join
        .onRef('report.agent', '=', 'event.agent')
        .onRef('report.life', '=', 'event.life')
        .onRef('report.digest', '=', 'event.report'),
    )
    .select(['event.seq', 'event.line', 'event.report', 'report.received_at'])
    .where('event.agent', '=', report.agent)
    .where('event.life', '=', report.life)
    .where((eb) =>
      assignment === '' ? eb('event.assignment', 'is', null) : eb('event.assignment', '=', assignment),
    )
    .where('event.seq', '>', seq)
    .where('report.number', '<', report.number)
    .orderBy('event.seq')
    .limit(NEXT_EVENTS)
    .execute();
