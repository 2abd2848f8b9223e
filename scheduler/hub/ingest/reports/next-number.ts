import { FleetError } from '#bundles/errors';
import type { Tx } from '../../store/tables.ts';
import { HISTORY_VERSION } from './facts.ts';

/**
 * The number of the next report to be stored (ReportRow.number). Every writer of history asks for it first.
 * @throws FleetError STORE_NEWER if a newer version has written the history by other rules: a report that this version stored would
 *   mix both
 */
export const nextNumber = async (tx: Tx): Promise<number> => {
  const { history, last } = await tx
    .selectFrom('fleet')
    .select('history')
    .select(({ selectFrom }) =>
      selectFrom('report')
        .select(({ fn }) => fn.max('number').as('last'))
        .as('last'),
    )
    .executeTakeFirstOrThrow();
  if (history > HISTORY_VERSION)
    throw new FleetError(
      'STORE_NEWER',
      `the history of the hub's database is of a newer version of this program: rules ${history}, not ${HISTORY_VERSION}`,
      { hint: 'Replace this replica with the newer version' },
    );
  return (last ?? 0) + 1;
};
