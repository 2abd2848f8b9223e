import type { Overview } from '#bundles/schemas/types/hub-decisions';
import type { Timestamp } from '#bundles/time';
import type { Database } from '../../store/tables.ts';
import { isIn, type Part } from '../state/part.ts';

/** Changes that agents of one environment reported since a time. */
export type ChangedSince = Overview['changed']['environments'][number];

/** Counts changed packages by environment, by the time at the sites. Costs the changes of that time. */
export const readChangedSince = async (
  db: Database,
  part: Part,
  since: Timestamp,
): Promise<readonly ChangedSince[]> =>
  await db
    .selectFrom('history')
    .innerJoin('agent', 'agent.id', 'history.agent')
    .select(({ fn }) => [
      'agent.environment',
      fn.countAll<number>().as('packages'),
      fn.count<number>('agent.site').distinct().as('sites'),
    ])
    .where('history.observed_at', '>=', since)
    .where('history.field', '=', 'package')
    .where('agent.revoked_at', 'is', null)
    .where(isIn(part))
    .groupBy('agent.environment')
    .orderBy('agent.environment')
    .execute();
