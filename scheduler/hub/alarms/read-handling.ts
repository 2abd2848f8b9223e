import type { Selectable } from 'kysely';
import { formatTime } from '#bundles/time';
import type { AlarmAcknowledgedRow, AlarmSilenceRow, OpenAlarmRow } from '../store/alarm-rows.ts';
import type { Database, Tx } from '../store/tables.ts';

type Asked = Pick<OpenAlarmRow, 'id' | 'opened_at' | 'cause_id'>;

/** Acknowledgements and silences in force at one time. */
export type Handling = {
  readonly acknowledgementOf: (row: Asked) => AlarmAcknowledgedRow | undefined;
  /** The silence that is in force: of the alarm, otherwise of its cause. */
  readonly silenceOf: (row: Asked) => Selectable<AlarmSilenceRow> | undefined;
};

export const NOT_HANDLED: Handling = { acknowledgementOf: () => undefined, silenceOf: () => undefined };

export const readHandling = async (db: Database | Tx, now: Date): Promise<Handling> => {
  const acknowledged = new Map(
    (await db.selectFrom('alarm_acknowledged').selectAll().execute()).map((row) => [row.alarm, row]),
  );
  const silences = new Map((await readSilences(db, now)).map((row) => [row.target, row]));
  return {
    acknowledgementOf: ({ id, opened_at: openedAt }) => {
      const row = acknowledged.get(id);
      return row?.opened_at === openedAt ? row : undefined;
    },
    silenceOf: ({ id, cause_id: cause }) => silences.get(id) ?? silences.get(cause ?? ''),
  };
};

/** Silences in force: before their end time, and not ended by a person. */
export const readSilences = (db: Database | Tx, now: Date): Promise<readonly AlarmSilenceRow[]> =>
  db
    .selectFrom('alarm_silence')
    .selectAll()
    .where('until_at', '>', formatTime(now))
    .where('ended_at', 'is', null)
    .orderBy('target')
    .execute();
