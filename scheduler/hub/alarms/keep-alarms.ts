import { canonicalJson } from '#bundles/json/canonical';
import { parseJson } from '#bundles/json/parse-json';
import type { AlarmSubject } from '#bundles/schemas/types/hub-decisions';
import { formatTime, parseTime } from '#bundles/time';
import { bySeverity, type Severity } from '../../model/severity.ts';
import type { Store } from '../store/open-store.ts';
import { parts } from '../store/parts.ts';
import type { OpenAlarmRow } from '../store/alarm-rows.ts';
import type { Database, Tx } from '../store/tables.ts';
import { type Alarm, type AlarmKind, causeIdOf, createAlarm } from './alarm.ts';

/** Alarms that are open at a time. Past it they are counted, and a single alarm says so. */
const MAX_OPEN = 10_000;
/** How long a condition must be gone before its alarm is over, so that a condition that comes and goes is one alarm. */
export const GONE_MS = 5 * 60_000;
/** After this time an alarm that is over is deleted although a receiver does not know it. */
const KEPT_MS = 7 * 86_400_000;
/** How long an alarm that is over is listed. */
const PAST_MS = 90 * 86_400_000;

export type Changes = { readonly opened: readonly Alarm[]; readonly over: readonly OpenAlarmRow[] };

/**
 * Stores the current alarms. An alarm keeps its start and its episode as long as its condition lasts, across restarts and
 * changes of the leader. Writes only what differs.
 */
export const keepAlarms = async (
  store: Store,
  derived: readonly Alarm[],
  { now, most = MAX_OPEN }: { readonly now: Date; readonly most?: number },
): Promise<Changes> => {
  const at = formatTime(now);
  const known = new Map((await readOpenAlarms(store.db)).map((row) => [row.id, row]));
  const alarms = boundAlarms(derived, known, { at, most });
  const present = new Set(alarms.map(({ id }) => id));
  const opened: Alarm[] = [];
  const rows: OpenAlarmRow[] = [];
  const back: OpenAlarmRow[] = [];
  for (const alarm of alarms) {
    const before = known.get(alarm.id);
    const isOver = before !== undefined && overSince(before, now);
    if (!before || isOver) opened.push(alarm);
    else if (before.gone_at !== null) back.push(before);
    const row = rowOf(alarm, before && !isOver ? before : undefined, at);
    if (JSON.stringify(row) !== JSON.stringify(before)) rows.push(row);
  }
  const absent = [...known.values()].filter(({ id }) => !present.has(id));
  const gone = absent.filter(({ gone_at: since }) => since === null);
  const kept = formatTime(new Date(now.getTime() - KEPT_MS));
  const old = absent.filter(({ gone_at: since }) => since !== null && since < kept);
  if (rows.length + gone.length + old.length > 0)
    await store.transact(async (tx) => {
      await deleteAlarms(
        tx,
        [...rows, ...old].map(({ id }) => id),
      );
      for (const part of parts(rows)) await tx.insertInto('open_alarm').values(part).execute();
      for (const part of parts(gone.map(({ id }) => id)))
        await tx.updateTable('open_alarm').set({ gone_at: at }).where('id', 'in', part).execute();
      await keepPast(tx, { gone, back, now });
      for (const part of parts(old.map(({ id }) => id)))
        for (const table of ['alarm_sent', 'alarm_acknowledged'] as const)
          await tx.deleteFrom(table).where('alarm', 'in', part).execute();
    });
  return { opened, over: absent.filter((row) => overSince(row, now)) };
};

/** Deletes ended alarms whose end every receiver has taken, and the state of former receivers. */
export const forgetAlarms = async (store: Store, receivers: readonly string[], now: Date): Promise<void> => {
  const limit = formatTime(new Date(now.getTime() - GONE_MS));
  const over = (db: Database) =>
    db
      .selectFrom('open_alarm')
      .select('id')
      .where('gone_at', '<=', limit)
      .where(({ not, exists, selectFrom }) =>
        not(
          exists(selectFrom('alarm_sent').select('alarm').whereRef('alarm_sent.alarm', '=', 'open_alarm.id')),
        ),
      );
  // No receiver is called ''.
  const names = receivers.length === 0 ? [''] : receivers;
  const sentOthers = (db: Database) =>
    db.selectFrom('alarm_sent').select('alarm').where('receiver', 'not in', names);
  const others = (db: Database) =>
    db.selectFrom('alarm_receiver').select('name').where('name', 'not in', names);
  const found = [
    await over(store.db).executeTakeFirst(),
    await sentOthers(store.db).executeTakeFirst(),
    await others(store.db).executeTakeFirst(),
  ];
  if (found.every((row) => row === undefined)) return;
  await store.transact(async (tx) => {
    await tx.deleteFrom('alarm_sent').where('receiver', 'not in', names).execute();
    await tx.deleteFrom('alarm_receiver').where('name', 'not in', names).execute();
    const ended = (await over(tx).execute()).map(({ id }) => id);
    await deleteAlarms(tx, ended);
    for (const part of parts(ended))
      await tx.deleteFrom('alarm_acknowledged').where('alarm', 'in', part).execute();
  });
};

/**
 * Records alarms whose condition is gone, with the person who had acknowledged each, and deletes the record of an alarm whose condition
 * returned before the alarm was over.
 */
const keepPast = async (
  tx: Tx,
  {
    gone,
    back,
    now,
  }: { readonly gone: readonly OpenAlarmRow[]; readonly back: readonly OpenAlarmRow[]; readonly now: Date },
): Promise<void> => {
  for (const { id, opened_at: openedAt } of back)
    await tx.deleteFrom('past_alarm').where('id', '=', id).where('opened_at', '=', openedAt).execute();
  for (const part of parts(gone)) {
    const acknowledged = await tx
      .selectFrom('alarm_acknowledged')
      .select(['alarm', 'opened_at', 'person'])
      .where(
        'alarm',
        'in',
        part.map(({ id }) => id),
      )
      .execute();
    const rows = part.map((row) => ({
      ...row,
      gone_at: formatTime(now),
      acknowledged_by:
        acknowledged.find(({ alarm, opened_at: at }) => alarm === row.id && at === row.opened_at)?.person ??
        null,
    }));
    await tx
      .insertInto('past_alarm')
      .values(rows)
      .onConflict((conflict) => conflict.columns(['id', 'opened_at']).doNothing())
      .execute();
  }
  const old = formatTime(new Date(now.getTime() - PAST_MS));
  await tx.deleteFrom('past_alarm').where('gone_at', '<', old).execute();
  await tx.deleteFrom('alarm_silence').where('until_at', '<', old).execute();
};

export const readOpenAlarms = (db: Database): Promise<readonly OpenAlarmRow[]> =>
  db.selectFrom('open_alarm').selectAll().orderBy('opened_at').orderBy('id').execute();

/** Whether the condition is gone for good. */
export const overSince = ({ gone_at: gone }: Pick<OpenAlarmRow, 'gone_at'>, now: Date): boolean =>
  gone !== null && parseTime(gone).getTime() + GONE_MS <= now.getTime();

/** A start is kept; severity and summary are the newest. */
const rowOf = (alarm: Alarm, before: OpenAlarmRow | undefined, at: string): OpenAlarmRow => ({
  id: alarm.id,
  kind: alarm.kind,
  severity: alarm.severity,
  subject: canonicalJson(alarm.subject),
  since: before?.since ?? alarm.since,
  summary: alarm.summary,
  opened_at: before?.opened_at ?? at,
  gone_at: null,
  cause: alarm.cause,
  cause_id: causeIdOf(alarm),
});

/** Those that are open stay, then the worst, then the oldest. */
const boundAlarms = (
  derived: readonly Alarm[],
  known: ReadonlyMap<string, OpenAlarmRow>,
  { at, most }: { readonly at: string; readonly most: number },
): readonly Alarm[] => {
  const unique = [...new Map(derived.map((alarm) => [alarm.id, alarm])).values()];
  if (unique.length <= most) return unique;
  const sorted = unique.toSorted(
    (a, b) =>
      Number(known.has(b.id)) - Number(known.has(a.id)) ||
      bySeverity(a.severity, b.severity) ||
      (a.since < b.since ? -1 : 1),
  );
  const rest = unique.length - most;
  const summary = `${rest} more alarms are not opened: ${most} are open`;
  return [...sorted.slice(0, most), createAlarm('TOO_MANY_ALARMS', 'critical', {}, at, summary)];
};

const deleteAlarms = async (tx: Tx, ids: readonly string[]): Promise<void> => {
  for (const part of parts(ids)) await tx.deleteFrom('open_alarm').where('id', 'in', part).execute();
};

/** The alarm of a row. Rows of an earlier version have no cause until the next round. */
export const alarmOf = (row: OpenAlarmRow): Alarm => ({
  id: row.id,
  kind: row.kind as AlarmKind,
  severity: severityOf(row),
  subject: parseJson(row.subject) as AlarmSubject,
  since: row.since,
  summary: row.summary,
  cause: row.cause ?? '',
});

export const severityOf = ({ severity }: Pick<OpenAlarmRow, 'severity'>): Severity => severity as Severity;
