import { sql } from 'kysely';
import type { Event } from '#bundles/formats/events/event';
import { overwrite } from '../../store/overwrite.ts';
import { parts } from '../../store/parts.ts';
import type { AssignmentStateRow, Tx } from '../../store/tables.ts';
import { valuesTable } from '../../store/values-table.ts';
import { factsOf, knownFact } from './facts.ts';
import { emptyState, foldEvent } from './fold-event.ts';
import { type FactSource, type TimedFact, writeChanges, writeLate } from './write-history.ts';

/** The events that a report was the first to bring. */
export type FreshEvents = { readonly report: FactSource; readonly events: readonly Event[] };

/**
 * Applies events to the state rows of their assignments and adds changes to the history. Older events do not override newer
 * ones (foldEvent). @param fresh of different agents
 */
export const updateStates = async (tx: Tx, fresh: readonly FreshEvents[]): Promise<void> => {
  const states = await readStates(tx, fresh);
  const changes: { readonly report: FactSource; readonly fact: TimedFact }[] = [];
  const late: typeof changes = [];
  for (const { report, events } of fresh) {
    for (const event of events) {
      const { assignment, at } = event;
      const key = keyOf(report.agent, assignment ?? '');
      const before = assignment === undefined ? undefined : states.get(key);
      for (const fact of factsOf(event)) {
        const known = knownFact(before ?? emptyState(report.agent, fact.assignment), fact.field);
        // The newest value of an agent's own fields is in the history only.
        if (assignment === undefined || fact.seq < known.seq) late.push({ report, fact: { ...fact, at } });
        else if (fact.value !== known.value) changes.push({ report, fact: { ...fact, at } });
      }
      if (assignment !== undefined)
        states.set(key, foldEvent(before ?? emptyState(report.agent, assignment), event, report.digest));
    }
  }
  await writeChanges(tx, changes);
  for (const { report, fact } of late) await writeLate(tx, report, fact);
  for (const part of parts([...states.values()])) {
    await tx
      .insertInto('assignment_state')
      .values(part)
      .onConflict((conflict) => conflict.columns(['agent', 'assignment']).doUpdateSet(overwrite(COLUMNS)))
      .execute();
  }
};

/** Neither name contains a space. */
const keyOf = (agent: string, assignment: string): string => `${agent} ${assignment}`;

const COLUMNS = (Object.keys(emptyState('', '')) as (keyof AssignmentStateRow)[]).filter(
  (column) => column !== 'agent' && column !== 'assignment',
);

const readStates = async (
  tx: Tx,
  fresh: readonly FreshEvents[],
): Promise<Map<string, AssignmentStateRow>> => {
  const pairs = fresh.flatMap(({ report: { agent }, events }) =>
    [...new Set(events.flatMap(({ assignment }) => assignment ?? []))].map((name) => [agent, name]),
  );
  const states = new Map<string, AssignmentStateRow>();
  for (const part of parts(pairs)) {
    const asked = valuesTable(['text', 'text'], part);
    const { rows } = await sql<AssignmentStateRow>`
      with asked(agent, assignment) as (${asked})
      select state.* from asked cross join assignment_state as state
        where state.agent = asked.agent and state.assignment = asked.assignment`.execute(tx);
    for (const row of rows) states.set(keyOf(row.agent, row.assignment), row);
  }
  return states;
};
