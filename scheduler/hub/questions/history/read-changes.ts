import { type ExpressionBuilder, sql } from 'kysely';
import type { ChangedValue } from '#bundles/formats/author-schema/changed-values';
import { defined } from '#bundles/defined';
import type { Digest } from '#bundles/digest';
import { parseJson } from '#bundles/json/parse-json';
import type { Timestamp } from '#bundles/time';
import { startOf } from '../../ingest/reports/facts.ts';
import { isSeenAssignment } from '../../people/visible.ts';
import type { HistoryField, HistoryRow } from '../../store/history-row.ts';
import type { Database, Tables } from '../../store/tables.ts';
import { cutPage, decodeCursor, type Page } from '../../page.ts';
import { valuesOfEvent } from './changed-values.ts';
import type { Span, Subject } from './question.ts';

/** One change at a site. */
export type Change = {
  readonly observedAt: Timestamp;
  readonly receivedAt: Timestamp;
  /** '<site>/<agent>' */
  readonly agent: string;
  readonly channel: string;
  /** null: of the agent itself. */
  readonly assignment: string | null;
  readonly field: HistoryField;
  readonly from: string | null;
  readonly to: string | null;
  readonly seq: number;
  readonly report: Digest;
  /** Reason given by the agent, or by a person on site. */
  readonly message: string | null;
  /** Of `values`: those that the agent named; absent: it named none. */
  readonly values?: readonly ChangedValue[];
};

export type Changes = {
  readonly changes: readonly Change[];
  readonly next: string | null;
  /** The part of the time that this page is about: after `after`, and not after `upTo`; undefined: no limit. */
  readonly upTo: Timestamp | undefined;
  readonly after: Timestamp | undefined;
};

/** observed_at, agent, life, seq, assignment, field. */
const KEY = ['', '', 0, 0, '', ''] as const satisfies readonly (string | number)[];

/**
 * Rows of the newest part of the history that are looked through for an environment, by the rows of a page. Most environments have a page
 * in it; others are few agents.
 */
const SCAN_FACTOR = 20;

/** Changes of agents that are not revoked, newest first by the time at the site. */
export const readChanges = async (
  db: Database,
  subject: Subject,
  span: Span,
  page: Page,
): Promise<Changes> => {
  const isOfMany =
    subject.environment !== undefined &&
    [subject.site, subject.agent, subject.assignments].every((one) => one === undefined);
  const newest = isOfMany ? await readRows(db, subject, await newestPart(db, span, page), page) : [];
  const read = newest.length > page.limit ? newest : await readRows(db, subject, span, page);
  const { rows, next } = cutPage(read, page.limit, (row) => [
    row.observed_at,
    row.agent,
    row.life,
    row.seq,
    row.assignment,
    row.field,
  ]);
  const changes = rows
    .map((row) => ({
      observedAt: row.observed_at,
      receivedAt: row.received_at,
      agent: row.agent,
      channel: `${row.environment}/${row.cluster_type}`,
      assignment: row.assignment === '' ? null : row.assignment,
      field: row.field,
      // A value is null only in fields that begin with null.
      from: row.before ?? startOf(row.field),
      message: messageOf(row.line),
      ...(row.field === 'values' && row.assignment !== ''
        ? defined({ values: valuesOfEvent(row.line) })
        : {}),
      to: row.value,
      seq: row.seq,
      report: row.report,
    }))
    // A row that was a change when its report came confirms a value that a late report brought.
    .filter(({ from, to }) => from !== to);
  const timeOf = (cursor: string | null | undefined): Timestamp | undefined =>
    cursor === null || cursor === undefined ? undefined : decodeCursor(cursor, KEY)[0];
  return { changes, next, upTo: timeOf(page.cursor), after: timeOf(next) };
};

/** The part of a time span that begins with the newest rows, of all agents. */
const newestPart = async (db: Database, span: Span, page: Page): Promise<Span> => {
  let query = db
    .selectFrom('history')
    .select('observed_at')
    .orderBy('observed_at', 'desc')
    .offset(SCAN_FACTOR * page.limit)
    .limit(1);
  const [until = span.until] = page.cursor === undefined ? [] : decodeCursor(page.cursor, KEY);
  if (until !== undefined) query = query.where('observed_at', '<=', until);
  const since = (await query.executeTakeFirst())?.observed_at;
  return since === undefined || (span.since !== undefined && span.since > since) ? span : { ...span, since };
};

/** Rows of a page and one more. */
const readRows = async (db: Database, subject: Subject, span: Span, page: Page) => {
  let query = db
    .selectFrom('history')
    .innerJoin('agent', 'agent.id', 'history.agent')
    .selectAll('history')
    .select(['agent.environment', 'agent.cluster_type'])
    // What a revoked agent was stays.
    .orderBy('history.observed_at', 'desc')
    .orderBy('history.agent', 'desc')
    .orderBy('history.life', 'desc')
    .orderBy('history.seq', 'desc')
    .orderBy('history.assignment', 'desc')
    .orderBy('history.field', 'desc')
    .limit(page.limit + 1);
  if (subject.environment !== undefined) query = query.where('agent.environment', '=', subject.environment);
  if (subject.site !== undefined) {
    const { site } = subject;
    query = query.where('history.agent', 'in', (eb) =>
      eb.selectFrom('agent as of_site').select('of_site.id').where('of_site.site', '=', site),
    );
  }
  if (subject.agent !== undefined) query = query.where('history.agent', '=', subject.agent);
  if (subject.assignments !== undefined) query = query.where('history.assignment', 'in', subject.assignments);
  if (subject.visible !== undefined)
    query = query.where(isSeenAssignment(subject.visible, 'history.assignment'));
  if (span.since !== undefined) query = query.where('history.observed_at', '>=', span.since);
  if (span.until !== undefined) query = query.where('history.observed_at', '<=', span.until);
  if (span.knownAt !== undefined) query = query.where('history.received_at', '<=', span.knownAt);
  if (page.cursor !== undefined) {
    const [at, agent, life, seq, assignment, field] = decodeCursor(page.cursor, KEY);
    query = query.where('history.observed_at', '<=', at).where(
      sql<boolean>`(history.observed_at, history.agent, history.life, history.seq, history.assignment, history.field)
          < (${at}, ${agent}, ${life}, ${seq}, ${assignment}, ${field})`,
    );
  }
  // The event and the value before are looked up of the rows of the page only.
  return await db
    .selectFrom(query.as('change'))
    .innerJoin('event', (join) =>
      join
        .onRef('event.agent', '=', 'change.agent')
        .onRef('event.life', '=', 'change.life')
        .onRef('event.seq', '=', 'change.seq'),
    )
    .selectAll('change')
    .select('event.line')
    .select((eb) => valueBefore(eb, span).as('before'))
    .orderBy('change.observed_at', 'desc')
    .orderBy('change.agent', 'desc')
    .orderBy('change.life', 'desc')
    .orderBy('change.seq', 'desc')
    .orderBy('change.assignment', 'desc')
    .orderBy('change.field', 'desc')
    .execute();
};

/** The value of the same field in the row before. */
const valueBefore = (eb: ExpressionBuilder<Tables & { change: HistoryRow }, 'change'>, { knownAt }: Span) => {
  const query = eb
    .selectFrom('history as earlier')
    .select('earlier.value')
    .whereRef('earlier.agent', '=', 'change.agent')
    .whereRef('earlier.assignment', '=', 'change.assignment')
    .whereRef('earlier.field', '=', 'change.field')
    .whereRef('earlier.life', '=', 'change.life')
    .whereRef('earlier.seq', '<', 'change.seq')
    .orderBy('earlier.seq', 'desc')
    .limit(1);
  return knownAt === undefined ? query : query.where('earlier.received_at', '<=', knownAt);
};

const messageOf = (line: string): string | null => {
  const { message } = parseJson(line) as { readonly message?: unknown };
  return typeof message === 'string' ? message : null;
};
