import { digestOf, hexOf } from '#bundles/digest';
import { canonicalJson } from '#bundles/json/canonical';
import { formatTime, parseTime, type Timestamp } from '#bundles/time';
import { bySeverity, isWorse, type Severity } from '../../model/severity.ts';
import type { Selectable } from 'kysely';
import type { AlarmSentRow as Stored, OpenAlarmRow } from '../store/alarm-rows.ts';
import { ALARMS, type Alarm } from './alarm.ts';
import { alarmOf, overSince, severityOf } from './keep-alarms.ts';
import { type Handling, NOT_HANDLED } from './read-handling.ts';

/** `worsened`: its severity has risen. `repeated`: it is still there. */
export type NoticeKind = 'opened' | 'worsened' | 'repeated' | 'resolved';

export type AlarmSentRow = Selectable<Stored>;

/** One message about one alarm. */
export type Notice = {
  /** The same when it is sent again after a crash, so that a receiver can tell the two are one. */
  readonly id: string;
  readonly what: NoticeKind;
  readonly alarm: Alarm;
  /** Remedy. */
  readonly action: string;
  readonly openedAt: Timestamp;
  /** Only of `resolved`: when the condition was gone. */
  readonly resolvedAt: Timestamp | null;
};

/** Which alarms a receiver wants. An alarm that is about no environment or workspace is not for one that names some. */
export type AlarmFilter = {
  readonly severity: Severity;
  readonly environments: readonly string[] | undefined;
  readonly workspaces: readonly string[] | undefined;
};

export type NoticeOptions = {
  readonly now: Date;
  readonly repeatMs: number;
  /** Acknowledgements and silences; default: none. */
  readonly handling?: Handling;
};

/** Longer than any stored pause: a later time is of a clock that was ahead and has been set back since. */
const MAX_MS = 8 * 3_600_000;

/** Whether a stored pause, which ends at `next`, still runs. */
export const isPaused = (next: Timestamp | null | undefined, now: Date): boolean => {
  const left = next ? parseTime(next).getTime() - now.getTime() : 0;
  return left > 0 && left <= MAX_MS;
};

/**
 * The notices that a receiver does not have yet, the worst first. At most one for each alarm, however long the receiver was away: the
 * newest. An alarm that came and went meanwhile gives none.
 */
export const pendingNotices = (
  filter: AlarmFilter,
  rows: readonly OpenAlarmRow[],
  sent: ReadonlyMap<string, AlarmSentRow>,
  options: NoticeOptions,
): readonly Notice[] =>
  rows
    .flatMap((row) => {
      const before = sent.get(row.id);
      const what = noticeKindOf(filter, row, before, options);
      return what === undefined ? [] : [noticeOf(what, row, before)];
    })
    .toSorted((a, b) => bySeverity(a.alarm.severity, b.alarm.severity));

const noticeKindOf = (
  filter: AlarmFilter,
  row: OpenAlarmRow,
  before: AlarmSentRow | undefined,
  { now, repeatMs, handling = NOT_HANDLED }: NoticeOptions,
): NoticeKind | undefined => {
  const isDue = !isPaused(before?.next_at, now);
  if (overSince(row, now))
    return before && (isDue || before.refused_what !== 'resolved') ? 'resolved' : undefined;
  // A receiver that has the alarm hears of its end also during a silence: nothing else would close it there.
  if (handling.silenceOf(row)) return undefined;
  if (!before) return row.gone_at === null && isWanted(filter, row) ? 'opened' : undefined;
  if (before.opened_at !== row.opened_at) return 'opened';
  if (row.gone_at !== null) return undefined;
  if (isWorse(severityOf(row), severityOf(before))) return 'worsened';
  if (before.refused_what !== null) return isDue ? (before.refused_what as NoticeKind) : undefined;
  if (handling.acknowledgementOf(row)) return undefined;
  return Math.abs(now.getTime() - parseTime(before.sent_at).getTime()) >= repeatMs ? 'repeated' : undefined;
};

const isWanted = ({ severity, environments, workspaces }: AlarmFilter, row: OpenAlarmRow): boolean => {
  const { environment, workspace } = alarmOf(row).subject;
  return (
    !isWorse(severity, severityOf(row)) &&
    (environments === undefined || (environment !== undefined && environments.includes(environment))) &&
    (workspaces === undefined || (workspace !== undefined && workspaces.includes(workspace)))
  );
};

const noticeOf = (what: NoticeKind, row: OpenAlarmRow, before: AlarmSentRow | undefined): Notice => {
  const { opened_at: openedAt, gone_at: goneAt } = row;
  const alarm = alarmOf(row);
  const { id, kind, severity } = alarm;
  const name = canonicalJson({
    id,
    openedAt,
    what,
    severity,
    sentAt: what === 'opened' ? null : (before?.sent_at ?? null),
  });
  return {
    id: `msg_${hexOf(digestOf(name)).slice(0, 40)}`,
    what,
    alarm,
    action: ALARMS[kind],
    openedAt,
    resolvedAt: what === 'resolved' ? goneAt : null,
  };
};

/** The row to store after a receiver took the notice, or undefined when the alarm is over. */
export const sentOf = (receiver: string, notice: Notice, now: Date): AlarmSentRow | undefined =>
  notice.what === 'resolved'
    ? undefined
    : {
        ...noticeFields(receiver, notice),
        sent_at: formatTime(now),
        refused_what: null,
        refused_at: null,
        refusals: 0,
        next_at: null,
        refusal: null,
      };

export type Refusal = {
  readonly message: string;
  readonly now: Date;
  readonly pauseMs: (refusals: number) => number;
};

/** The row to store after a receiver refused the notice: it is sent again after a pause that grows. */
export const refusedOf = (
  receiver: string,
  notice: Notice,
  before: AlarmSentRow | undefined,
  { message, now, pauseMs }: Refusal,
): AlarmSentRow => {
  const refusals = (before?.refusals ?? 0) + 1;
  const at = formatTime(now);
  return {
    ...noticeFields(receiver, notice),
    sent_at: before?.sent_at ?? at,
    refused_what: notice.what,
    refused_at: before?.refused_at ?? at,
    refusals,
    next_at: formatTime(new Date(now.getTime() + pauseMs(refusals))),
    refusal: message,
  };
};

const noticeFields = (receiver: string, { alarm, openedAt }: Notice) => ({
  receiver,
  alarm: alarm.id,
  opened_at: openedAt,
  severity: alarm.severity,
});
