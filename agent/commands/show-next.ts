import type { NextChanges } from '../apply/plan-next.ts';
import type { Table } from '#cli/format-table';

/** Planned changes, for people: a row for each object, and one for each reason why a package would not be changed. */
export const showNext = (next: readonly NextChanges[]): Table => {
  const rows = next.flatMap(({ assignment, changes, error, waits }) => {
    if (error) return [[assignment, 'not planned', '', `${error.code}: ${error.message}`]];
    return [
      ...(waits ? [[assignment, 'waits', '', `${waits.code}: ${waits.message}`]] : []),
      ...(changes.length === 0 ? [[assignment, 'unchanged', '', 'only its record changes']] : []),
      ...changes.map(({ key, outcome, reason }) => [assignment, outcome, key, reason]),
    ];
  });
  return { head: ['PACKAGE', 'WOULD BE', 'OBJECT', 'WHY'], rows };
};
