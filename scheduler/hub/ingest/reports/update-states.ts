import type { Event } from '#bundles/formats/events/event';
import type { AssignmentStateRow, Tx } from '../../store/tables.ts';
import { factsOf, knownFact } from './facts.ts';
import { emptyState, foldEvent } from './fold-event.ts';
import { type FactSource, type TimedFact, writeChanges, writeLate } from './write-history.ts';

/** Rows per INSERT and names per IN, below the parameter limits of the databases. */
const ROWS = 500;

/**
 * Applies events to the state rows of their assignments and adds changes to the history. Older events do not override newer
 * ones (foldEvent).
 */
export const updateStates = async (tx: Tx, report: FactSource, events: readonly Event[]): Promise<void> => {
  const assignments = [...new Set(events.flatMap(({ assignment }) => assignment ?? []))];
  const states = await readStates(tx, report.agent, assignments);
  const changes: TimedFact[] = [];
  const late: TimedFact[] = [];
  for (const event of events) {
    const { assignment, at } = event;
    const before = assignment === undefined ? undefined : states.get(assignment);
    for (const fact of factsOf(event)) {
      const known = knownFact(before ?? emptyState(report.agent, fact.assignment), fact.field);
      // The newest value of an agent's own fields is in the history only.
      if (assignment === undefined || fact.seq < known.seq) late.push({ ...fact, at });
      else if (fact.value !== known.value) changes.push({ ...fact, at });
    }
    if (assignment !== undefined)
      states.set(assignment, foldEvent(before ?? emptyState(report.agent, assignment), event, report.digest));
  }
  await writeChanges(tx, report, changes);
  for (const fact of late) await writeLate(tx, report, fact);
  const rows = [...states.values()];
  for (let start = 0; start < rows.length; start += ROWS) {
    await tx
      .insertInto('assignment_state')
      .values(rows.slice(start, start + ROWS))
      .onConflict((conflict) =>
        conflict
          .columns(['agent', 'assignment'])
          .doUpdateSet(({ ref }) =>
            Object.fromEntries(COLUMNS.map((column) => [column, ref(`excluded.${column}`)])),
          ),
      )
      .execute();
  }
};

const COLUMNS = (Object.keys(emptyState('', '')) as (keyof AssignmentStateRow)[]).filter(
  (column) => column !== 'agent' && column !== 'assignment',
);

const readStates = async (
  tx: Tx,
  agent: string,
  assignments: readonly string[],
): Promise<Map<string, AssignmentStateRow>> => {
  const states = new Map<string, AssignmentStateRow>();
  for (let start = 0; start < assignments.length; start += ROWS) {
    const rows = await tx
      .selectFrom('assignment_state')
      .selectAll()
      .where('agent', '=', agent)
      .where('assignment', 'in', assignments.slice(start, start + ROWS))
      .execute();
    for (const row of rows) states.set(row.assignment, row);
  }
  return states;
};
