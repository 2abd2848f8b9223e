import { formatTime, parseTime, type Timestamp } from '#bundles/time';
import type { Database, SessionRow } from '../store/tables.ts';

export type ListedSession = {
  readonly id: string;
  readonly kind: SessionRow['kind'];
  readonly person: string;
  readonly issuer: string | null;
  readonly groups: readonly string[];
  readonly state: 'open' | 'ended';
  readonly createdAt: Timestamp;
  readonly seenAt: Timestamp;
  readonly endsAt: Timestamp;
  /** Why it ended before its time; null: it did not. */
  readonly endedWhy: string | null;
};

export type SessionsAsked = {
  readonly now: Date;
  readonly idleMs: number;
  /** A session of the person whose sessions are listed; undefined: those of all people. */
  readonly own?: Pick<SessionRow, 'kind' | 'person' | 'issuer' | 'subject'> | undefined;
};

/** Sessions of the last 30 days, newest first, without any secret. */
export const listSessions = async (
  db: Database,
  { now, idleMs, own }: SessionsAsked,
): Promise<readonly ListedSession[]> => {
  let query = db.selectFrom('session').selectAll().orderBy('created_at', 'desc').orderBy('id');
  if (own !== undefined)
    query = query
      .where('kind', '=', own.kind)
      .where('person', '=', own.person)
      .where('issuer', 'is not distinct from', own.issuer)
      .where('subject', 'is not distinct from', own.subject);
  const rows = await query.execute();
  return rows.map((row) => ({
    id: row.id,
    kind: row.kind,
    person: row.person,
    issuer: row.issuer,
    groups: JSON.parse(row.groups) as string[],
    state: isOpen(row, now, idleMs) ? 'open' : 'ended',
    createdAt: row.created_at,
    seenAt: row.seen_at,
    endsAt: row.ends_at,
    endedWhy: row.ended_why,
  }));
};

const isOpen = (row: SessionRow, now: Date, idleMs: number): boolean =>
  row.ended_at === null &&
  row.ends_at > formatTime(now) &&
  parseTime(row.seen_at).getTime() + idleMs > now.getTime();

/** An admin's session by a break-glass code, shown to all signed-in people. */
export type BreakGlassSession = {
  readonly person: string;
  readonly reason: string;
  readonly until: Timestamp;
};

export const listBreakGlass = async (db: Database, now: Date): Promise<readonly BreakGlassSession[]> => {
  const rows = await db
    .selectFrom('session')
    .innerJoin('token', 'token.id', 'session.token')
    .select(['session.person', 'session.ends_at', 'token.note'])
    .where('session.kind', '=', 'break-glass')
    .where('session.ended_at', 'is', null)
    .where('session.ends_at', '>', formatTime(now))
    .orderBy('session.created_at')
    .execute();
  return rows.map(({ person, ends_at: until, note }) => ({ person, reason: note ?? '', until }));
};
