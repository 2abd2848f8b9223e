import { canonicalJson } from '#bundles/json/canonical';
import { digestOf } from '#bundles/digest';
import type { AlarmRow, ReportRow, Tx } from '../../store/tables.ts';

export type Alarm = {
  readonly code: 'REPORT_CHAIN' | 'ROLLBACK' | 'KEY_COPIED';
  readonly message: string;
  /** Lines of a report that was kept apart; null if its events were accepted. */
  readonly events: string | null;
};

/**
 * Alarms kept per agent and code: the first ones and the last. Each holds evidence, and the holder of a stolen key could raise
 * one with every report.
 */
const MAX_ALARMS: Readonly<Record<Alarm['code'], number>> = {
  REPORT_CHAIN: 2,
  ROLLBACK: 10,
  KEY_COPIED: 2,
};

/** Agent, life and time of an alarm, and the digest of its evidence: a report, a certificate, a request for one. */
export type AlarmSource = Pick<ReportRow, 'agent' | 'life' | 'digest' | 'received_at'>;

/** Stores an alarm once. If the agent has reached the limit, the alarm replaces the last one. */
export const raiseAlarm = async (
  tx: Tx,
  row: AlarmSource,
  { code, message, events }: Alarm,
): Promise<void> => {
  const { agent, digest } = row;
  const id = digestOf(canonicalJson([agent, row.life, code, message, digest]));
  await removeSurplus(tx, { id, agent, code });
  await tx
    .insertInto('alarm')
    .values({ id, agent, code, message, report: digest, raised_at: row.received_at, events })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute();
};

/** Makes room for the alarm `id`. A report that was kept apart is deleted with its alarm. */
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
  const surplus = others.slice(MAX_ALARMS[code] - 1);
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
