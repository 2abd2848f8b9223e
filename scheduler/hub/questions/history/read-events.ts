import { sql } from 'kysely';
import type { Digest } from '#bundles/digest';
import type { Event } from '#bundles/formats/events/event';
import { parseJson } from '#bundles/json/parse-json';
import type { Timestamp } from '#bundles/time';
import { isSeenAssignment } from '../../people/visible.ts';
import type { Database } from '../../store/tables.ts';
import { cutPage, decodeCursor, type Page } from '../../page.ts';
import type { Span, Subject } from './question.ts';

/** An event as the agent wrote it, and the first report that brought it. */
export type StoredEvent = {
  readonly event: Event;
  readonly hash: Digest;
  readonly source: {
    readonly report: Digest;
    /** 'stick' or 'network'. */
    readonly by: string;
    readonly receivedAt: Timestamp;
    readonly clockTrusted: boolean;
  };
};

export type StoredEvents = { readonly events: readonly StoredEvent[]; readonly next: string | null };

/** Reports and events that are looked through for the events of many agents, by the rows of a page: nearly every report has an event of its own. */
const SCAN_FACTOR = 2;

/** Events in the order in which their reports were stored, newest first. `since` and `until` are by the agent's clock. */
export const readEvents = async (
  db: Database,
  subject: Subject,
  span: Span,
  page: Page,
): Promise<StoredEvents> => {
  const read = await readFirst(db, subject, span, page);
  const { rows, next } = cutPage(read, page.limit, ({ number, seq }) => [number, seq]);
  const events = rows.map((row) => ({
    event: parseJson(row.line) as Event,
    hash: row.hash,
    source: {
      report: row.digest,
      by: row.source,
      receivedAt: row.received_at,
      clockTrusted: row.clock_trusted === 1,
    },
  }));
  return { events, next };
};

/** Rows of a page and one more. Those of many agents are most often found in the newest reports. */
const readFirst = async (db: Database, subject: Subject, span: Span, page: Page) => {
  const isOfMany = [subject.site, subject.agent, subject.assignments].every((one) => one === undefined);
  for (const after of isOfMany ? await startsOf(db, page) : []) {
    const rows = await readRows(db, subject, span, { ...page, after });
    if (rows.length > page.limit) return rows;
  }
  return await readRows(db, subject, span, page);
};

/** Numbers of reports after which a page may be found: reports with so many events, then so many reports. */
const startsOf = async (db: Database, { cursor, limit }: Page): Promise<readonly number[]> => {
  let query = db
    .selectFrom('report')
    .select(['number', 'first_seq', 'last_seq'])
    .orderBy('number', 'desc')
    .limit(SCAN_FACTOR * limit);
  if (cursor !== undefined) query = query.where('number', '<=', decodeCursor(cursor, [0, 0] as const)[0]);
  const reports = await query.execute();
  let events = 0;
  const enough = reports.find(({ first_seq: first, last_seq: last }) => {
    events += last - first + 1;
    return events > SCAN_FACTOR * limit;
  });
  return [enough, reports.at(-1)].flatMap((report) => (report ? [report.number - 1] : []));
};

type Part = Page & { readonly after?: number };

/** Rows of a page and one more. @param page of reports with numbers above `after` */
const readRows = async (db: Database, subject: Subject, { since, until, knownAt }: Span, page: Part) => {
  let query = db
    .selectFrom('report')
    .innerJoin('event', (join) =>
      join
        .onRef('event.agent', '=', 'report.agent')
        .onRef('event.life', '=', 'report.life')
        .onRef('event.report', '=', 'report.digest')
        .on((eb) => eb.between('event.seq', eb.ref('report.first_seq'), eb.ref('report.last_seq'))),
    )
    .innerJoin('agent', 'agent.id', 'report.agent')
    .select([
      'report.number',
      'report.digest',
      'report.source',
      'report.received_at',
      'report.clock_trusted',
      'event.seq',
      'event.hash',
      'event.line',
    ])
    .orderBy('report.number', 'desc')
    .orderBy('event.seq', 'desc')
    .limit(page.limit + 1);
  if (subject.environment !== undefined) query = query.where('agent.environment', '=', subject.environment);
  if (subject.site !== undefined) query = query.where('agent.site', '=', subject.site);
  if (subject.agent !== undefined) query = query.where('report.agent', '=', subject.agent);
  if (subject.assignments !== undefined) query = query.where('event.assignment', 'in', subject.assignments);
  if (subject.visible !== undefined)
    query = query.where(isSeenAssignment(subject.visible, 'event.assignment'));
  if (since !== undefined) query = query.where('event.at', '>=', since);
  if (until !== undefined) query = query.where('event.at', '<=', until);
  if (knownAt !== undefined) query = query.where('report.received_at', '<=', knownAt);
  if (page.cursor !== undefined) {
    const [number, seq] = decodeCursor(page.cursor, [0, 0] as const);
    query = query
      .where('report.number', '<=', number)
      .where(sql<boolean>`(report.number, event.seq) < (${number}, ${seq})`);
  }
  if (page.after !== undefined) query = query.where('report.number', '>', page.after);
  return await query.execute();
};
