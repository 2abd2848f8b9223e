import type { AlarmAct, Alarms, AlarmSilenceAct, AlarmSubject } from '#bundles/schemas/types/hub-decisions';
import type { Timestamp } from '#bundles/time';
import { SEVERITIES, type Severity } from '../../model/severity.ts';
import { cutPage, decodeCursor, type Page } from '../page.ts';
import { seesAssignment, seesWhole, type Visible } from '../people/visible.ts';
import type { OpenAlarmRow } from '../store/alarm-rows.ts';
import type { Database } from '../store/tables.ts';
import { type Alarm, ALARMS } from './alarm.ts';
import { alarmOf, readOpenAlarms, severityOf } from './keep-alarms.ts';
import { type Handling, readHandling } from './read-handling.ts';

/** An acknowledgement by a person. */
export type Act = NonNullable<AlarmAct>;
export type Silence = NonNullable<AlarmSilenceAct>;

/** A receiver that did not take its last notices. */
export type FailingReceiver = Alarms['failing'][number];

export type AlarmsAsked = {
  readonly environment?: string | undefined;
  readonly site?: string | undefined;
  readonly kind?: string | undefined;
  readonly severity?: Severity | undefined;
  /** Id of a cause. */
  readonly cause?: string | undefined;
  /** Workspace that owns the assignment. */
  readonly workspace?: string | undefined;
  /** Limits of what the caller may see; undefined: no limits. */
  readonly visible?: Visible | undefined;
};

/**
 * Lists a page of the open alarms, the worst and then the oldest first, with the count of all that fit. Limited readers get the alarms of
 * their environments and assignments; receivers are for readers of everything. @throws FleetError USAGE for the cursor
 */
export const listAlarms = async (
  db: Database,
  asked: AlarmsAsked,
  { limit, cursor }: Page,
  now: Date,
): Promise<Omit<Alarms, 'at'>> => {
  const open = (await readSelected(db, asked))
    .map((one) => ({ ...one, key: keyOf(one.row) }))
    .toSorted((a, b) => order(a.key, b.key));
  const after = cursor === undefined ? undefined : decodeCursor(cursor, [0, '', ''] as const);
  const rest = open.filter(({ key }) => after === undefined || order(key, after) > 0);
  const { rows, next } = cutPage(rest.slice(0, limit + 1), limit, ({ key }) => key);
  const noticed = await readNoticed(
    db,
    rows.map(({ row }) => row.id),
  );
  const handling = await readHandling(db, now);
  return {
    total: open.length,
    alarms: rows.map(({ row, alarm }) => ({
      ...alarm,
      ...handledBy(handling, row),
      causeId: row.cause_id ?? '',
      openedAt: row.opened_at,
      action: ALARMS[alarm.kind] ?? '',
      noticedAt: noticed.get(row.id) ?? null,
    })),
    failing: asked.visible === undefined ? await readFailing(db) : [],
    next,
  };
};

/** The open alarms that fit, in no order. */
export const readSelected = async (
  db: Database,
  asked: AlarmsAsked,
): Promise<readonly { readonly row: OpenAlarmRow; readonly alarm: Alarm }[]> =>
  (await readOpenAlarms(db))
    .filter(({ gone_at: gone }) => gone === null)
    .map((row) => ({ row, alarm: alarmOf(row) }))
    .filter(({ row, alarm }) => isSelected(asked, row, alarm.subject));

/** Acknowledgement and silence of an alarm. */
export const handledBy = (
  handling: Handling,
  row: OpenAlarmRow,
): { readonly acknowledged: Act | null; readonly silenced: Silence | null } => {
  const act = handling.acknowledgementOf(row);
  const silence = handling.silenceOf(row);
  return {
    acknowledged: act ? { person: act.person, reason: act.reason, at: act.at } : null,
    silenced: silence
      ? {
          target: silence.target,
          person: silence.person,
          reason: silence.reason,
          at: silence.at,
          until: silence.until_at,
        }
      : null,
  };
};

type Key = readonly [severity: number, since: string, id: string];

const keyOf = (row: OpenAlarmRow): Key => [-SEVERITIES.indexOf(severityOf(row)), row.since, row.id];

const order = (a: Key, b: Key): number => a[0] - b[0] || compare(a[1], b[1]) || compare(a[2], b[2]);

const compare = <T extends string | number>(a: T, b: T): number => {
  if (a === b) return 0;
  return a < b ? -1 : 1;
};

/** Whether an alarm fits; a filter that is undefined fits all. */
export const isSelected = (
  { environment, site, kind, severity, cause, workspace, visible }: AlarmsAsked,
  row: Pick<OpenAlarmRow, 'kind' | 'severity' | 'cause_id'>,
  subject: AlarmSubject,
): boolean => {
  const filters = [
    [environment, subject.environment],
    [site, subject.site],
    [kind, row.kind],
    [severity, row.severity],
    [cause, row.cause_id],
    [workspace, subject.workspace],
  ] as const;
  return (
    filters.every(([wanted, found]) => wanted === undefined || wanted === found) &&
    (visible === undefined || isSeen(visible, subject))
  );
};

/** Whether a limited reader may know of alarms with this subject. */
export const isSeen = (visible: Visible, { environment, assignment }: AlarmSubject): boolean =>
  environment !== undefined &&
  (seesWhole(visible, environment) ||
    (assignment !== undefined && seesAssignment(visible, environment, assignment)));

export const readNoticed = async (
  db: Database,
  alarms: readonly string[],
): Promise<ReadonlyMap<string, Timestamp>> => {
  if (alarms.length === 0) return new Map();
  const rows = await db
    .selectFrom('alarm_sent')
    .select(({ fn }) => ['alarm', fn.max('sent_at').as('at')])
    .where('alarm', 'in', alarms)
    .groupBy('alarm')
    .execute();
  return new Map(rows.map(({ alarm, at }) => [alarm, at]));
};

const readFailing = async (db: Database): Promise<readonly FailingReceiver[]> => {
  const rows = await db.selectFrom('alarm_receiver').selectAll().orderBy('name').execute();
  return rows.map(({ name, failing_since: since, failures, next_at: nextAt, message }) => ({
    receiver: name,
    since,
    failures,
    nextAt,
    message,
  }));
};
