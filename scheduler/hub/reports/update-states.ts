import type { Event } from '#bundles/formats/events/event';
import type { AssignmentStateRow, ReportRow, Tx } from '../store/tables.ts';
import { emptyState, foldEvent } from './fold-event.ts';

/** Rows per INSERT and names per IN, below the parameter limits of the databases. */
const ROWS = 500;

/** Applies events to the state rows of their assignments. Older events do not override newer ones (foldEvent). */
export const updateStates = async (tx: Tx, report: ReportRow, events: readonly Event[]): Promise<void> => {
  const assignments = [...new Set(events.flatMap(({ assignment }) => assignment ?? []))];
  const states = await readStates(tx, report.agent, assignments);
  for (const event of events) {
    if (event.assignment === undefined) continue;
    const before = states.get(event.assignment) ?? emptyState(report.agent, event.assignment);
    states.set(event.assignment, foldEvent(before, event, report.digest));
  }
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
