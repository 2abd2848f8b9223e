import { canonicalJson } from '#bundles/canonical';
import { digestOf } from '#bundles/digest';
import type { AlarmRow, ReportRow, Tx } from '../store/tables.ts';

export type Alarm = {
  readonly code: 'REPORT_CHAIN' | 'ROLLBACK';
  readonly message: string;
  /** Lines that were kept apart; null where the events count. */
  readonly events: string | null;
};

/**
 * How many alarms of one agent are kept: the first ones and the last. Each holds evidence, and an agent whose key was
 * stolen can raise one with every report.
 */
const MOST: Readonly<Record<Alarm['code'], number>> = { REPORT_CHAIN: 2, ROLLBACK: 10 };

/** Writes an alarm about a report, once; in place of the last one where its agent has as many as are kept. */
export const raiseAlarm = async (tx: Tx, row: ReportRow, { code, message, events }: Alarm): Promise<void> => {
  const { agent, digest } = row;
  const id = digestOf(canonicalJson([agent, row.life, code, message, digest]));
  await removeSurplus(tx, { id, agent, code });
  await tx
    .insertInto('alarm')
    .values({ id, agent, code, message, report: digest, raised_at: row.received_at, events })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute();
};

/** Makes room for the alarm `id`; a report that was kept apart goes with the alarm that speaks of it. */
const removeSurplus = async (
  tx: Tx,
  { id, agent, code }: Pick<AlarmRow, 'id' | 'agent'> & Pick<Alarm, 'code'>,
): Promise<void> => {
  const others = await tx
    .selectFrom('alarm')
    .select(['id', 'report'])
    .where('agent', '=', agent)
    .where('code', '=', code)
    .where('id', '!=', id)
    .orderBy('raised_at')
    .orderBy('id')
    .execute();
  const surplus = others.slice(MOST[code] - 1);
  if (surplus.length === 0) return;
  const ids = surplus.map((alarm) => alarm.id);
  const reports = surplus.map(({ report }) => report);
  await tx.deleteFrom('alarm').where('id', 'in', ids).execute();
  await tx
    .deleteFrom('report')
    .where('agent', '=', agent)
    .where('apart', '=', 1)
    .where('digest', 'in', reports)
    .execute();
};
