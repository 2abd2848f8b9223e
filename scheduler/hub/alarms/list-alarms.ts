import { parseJson } from '#bundles/json/parse-json';
import type { Timestamp } from '#bundles/time';
import { SEVERITIES, type Severity } from '../../model/severity.ts';
import { cutPage, decodeCursor, type Page } from '../page.ts';
import { seesAssignment, seesWhole, type Visible } from '../people/visible.ts';
import type { Database, OpenAlarmRow } from '../store/tables.ts';
import { type Alarm, type AlarmKind, ALARMS, type AlarmSubject } from './alarm.ts';
import { readOpenAlarms, severityOf } from './keep-alarms.ts';

/** An open alarm with its notices. */
export type ListedAlarm = Alarm & {
  readonly openedAt: Timestamp;
  /** Advice for the person who reads it. */
  readonly action: string;
  /** Time of the last notice to any receiver; null: no receiver took one. */
  readonly noticedAt: Timestamp | null;
};

/** A receiver that did not take its last notices. */
export type FailingReceiver = {
  readonly receiver: string;
  readonly since: Timestamp;
  readonly failures: number;
  readonly nextAt: Timestamp;
  readonly message: string;
};

export type AlarmsAsked = {
  readonly environment?: string | undefined;
  readonly site?: string | undefined;
  readonly kind?: string | undefined;
  readonly severity?: Severity | undefined;
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
): Promise<{
  readonly total: number;
  readonly alarms: readonly ListedAlarm[];
  readonly failing: readonly FailingReceiver[];
  readonly next: string | null;
}> => {
  const open = (await readOpenAlarms(db))
    .filter(({ gone_at: gone }) => gone === null)
    .map((row) => ({ row, subject: parseJson(row.subject) as AlarmSubject, key: keyOf(row) }))
    .filter(({ row, subject }) => isSelected(asked, row, subject))
    .toSorted((a, b) => order(a.key, b.key));
  const after = cursor === undefined ? undefined : decodeCursor(cursor, [0, '', ''] as const);
  const rest = open.filter(({ key }) => after === undefined || order(key, after) > 0);
  const { rows, next } = cutPage(rest.slice(0, limit + 1), limit, ({ key }) => key);
  const noticed = await readNoticed(
    db,
    rows.map(({ row }) => row.id),
  );
  return {
    total: open.length,
    alarms: rows.map(({ row, subject }) => ({
      id: row.id,
      kind: row.kind as AlarmKind,
      severity: severityOf(row),
      subject,
      since: row.since,
      summary: row.summary,
      openedAt: row.opened_at,
      action: ALARMS[row.kind as AlarmKind] ?? '',
      noticedAt: noticed.get(row.id) ?? null,
    })),
    failing: asked.visible === undefined ? await readFailing(db) : [],
    next,
  };
};

type Key = readonly [severity: number, since: string, id: string];

const keyOf = (row: OpenAlarmRow): Key => [-SEVERITIES.indexOf(severityOf(row)), row.since, row.id];

const order = (a: Key, b: Key): number => a[0] - b[0] || compare(a[1], b[1]) || compare(a[2], b[2]);

const compare = <T extends string | number>(a: T, b: T): number => {
  if (a === b) return 0;
  return a < b ? -1 : 1;
};

const isSelected = (
  { environment, site, kind, severity, visible }: AlarmsAsked,
  row: OpenAlarmRow,
  subject: AlarmSubject,
): boolean =>
  (environment === undefined || subject.environment === environment) &&
  (site === undefined || subject.site === site) &&
  (kind === undefined || row.kind === kind) &&
  (severity === undefined || row.severity === severity) &&
  (visible === undefined || isSeen(visible, subject));

const isSeen = (visible: Visible, { environment, assignment }: AlarmSubject): boolean =>
  environment !== undefined &&
  (seesWhole(visible, environment) ||
    (assignment !== undefined && seesAssignment(visible, environment, assignment)));

const readNoticed = async (
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
