import type { AlarmsPast } from '#bundles/schemas/types/hub-decisions';
import { cutPage, decodeCursor, type Page } from '../page.ts';
import type { Database } from '../store/tables.ts';
import { type AlarmsAsked, isSelected } from './list-alarms.ts';
import { alarmOf } from './keep-alarms.ts';

/** An alarm whose condition is gone. */
export type PastAlarm = AlarmsPast['alarms'][number];

/** Rows that one statement reads. */
const AT_ONCE = 1000;

/** Lists a page of the alarms of the last 90 days that are over, the one that ended last first. @throws FleetError USAGE for the cursor */
export const listPast = async (
  db: Database,
  asked: AlarmsAsked,
  { limit, cursor }: Page,
): Promise<Omit<AlarmsPast, 'at'>> => {
  const found: PastAlarm[] = [];
  let after: Key | undefined = cursor === undefined ? undefined : decodeCursor(cursor, ['', '', ''] as const);
  // A limited reader, or a filter, may fit few of many: read until the page is full.
  for (;;) {
    const rows = await readAfter(db, after);
    for (const row of rows) {
      const alarm = alarmOf({ ...row, gone_at: null });
      if (isSelected(asked, row, alarm.subject))
        found.push({
          ...alarm,
          openedAt: row.opened_at,
          goneAt: row.gone_at,
          acknowledgedBy: row.acknowledged_by,
        });
    }
    const last = rows.at(-1);
    if (found.length > limit || rows.length < AT_ONCE || !last) break;
    after = [last.gone_at, last.opened_at, last.id];
  }
  const { rows, next } = cutPage(found.slice(0, limit + 1), limit, ({ goneAt, openedAt, id }) => [
    goneAt,
    openedAt,
    id,
  ]);
  return { alarms: rows, next };
};

type Key = readonly [goneAt: string, openedAt: string, id: string];

const readAfter = (db: Database, after: Key | undefined) =>
  db
    .selectFrom('past_alarm')
    .selectAll()
    .$if(after !== undefined, (query) =>
      query.where(({ eb, or, and }) => {
        const [gone, opened, id] = after ?? ['', '', ''];
        return or([
          eb('gone_at', '<', gone),
          and([eb('gone_at', '=', gone), eb('opened_at', '<', opened)]),
          and([eb('gone_at', '=', gone), eb('opened_at', '=', opened), eb('id', '>', id)]),
        ]);
      }),
    )
    .orderBy('gone_at', 'desc')
    .orderBy('opened_at', 'desc')
    .orderBy('id')
    .limit(AT_ONCE)
    .execute();
