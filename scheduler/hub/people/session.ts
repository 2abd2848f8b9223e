import { createHash, randomBytes } from 'node:crypto';
import { FleetError } from '#bundles/errors';
import { formatTime, parseTime } from '#bundles/time';
import { noteChange } from '../changes/note-change.ts';
import type { Store } from '../store/open-store.ts';
import type { SessionRow, Tx } from '../store/tables.ts';
import { isFromFuture } from '../is-from-future.ts';

/** 256 bits, in a cookie; the database has only its SHA-256. */
const SECRET_BYTES = 32;
const SECRET = /^[A-Za-z0-9_-]{43}$/;

/** How often the secret is replaced, and how long the one before still counts for requests under way. */
const ROTATE_MS = 15 * 60_000;
const GRACE_MS = 60_000;
/** How exactly the time of the last request is kept. */
const SEEN_MS = 60_000;
/** How long ended sessions stay in the list. */
const KEPT_MS = 30 * 86_400_000;

export type NewSession = Pick<SessionRow, 'kind' | 'issuer' | 'subject' | 'person' | 'groups' | 'token'> & {
  readonly endsAt: Date;
  readonly now: Date;
};

/** A session and the secret of its cookie, which is stored nowhere. */
export type OpenSession = { readonly row: SessionRow; readonly secret: string };

export const hashSecret = (secret: string): string => createHash('sha256').update(secret).digest('hex');
export const createSecret = (): string => randomBytes(SECRET_BYTES).toString('base64url');
export const isSecret = (text: string): boolean => SECRET.test(text);

/** Always a new secret and a new session: one that somebody planted in the browser before is worth nothing. */
export const createSession = async (tx: Tx, { now, endsAt, ...who }: NewSession): Promise<OpenSession> => {
  await tx
    .deleteFrom('session')
    .where('ends_at', '<=', formatTime(new Date(now.getTime() - KEPT_MS)))
    .execute();
  const secret = createSecret();
  const at = formatTime(now);
  const row: SessionRow = {
    ...who,
    id: randomBytes(6).toString('hex'),
    hash: hashSecret(secret),
    previous_hash: null,
    rotated_at: at,
    csrf: createSecret(),
    created_at: at,
    seen_at: at,
    ends_at: formatTime(endsAt),
    ended_at: null,
    ended_why: null,
  };
  await tx.insertInto('session').values(row).execute();
  return { row, secret };
};

type Found = { readonly row: SessionRow; readonly isPrevious: boolean };

/**
 * The session of a cookie. The use of a secret that was replaced longer ago than requests take ends the session: a copy of the cookie
 * is in other hands.
 * @throws FleetError SESSION_INVALID
 */
export const findSession = async (
  store: Store,
  secret: string,
  { now, idleMs }: { readonly now: Date; readonly idleMs: number },
): Promise<Found> => {
  if (!isSecret(secret)) throw invalid('the cookie of the session is not valid');
  const hash = hashSecret(secret);
  const row = await store.db
    .selectFrom('session')
    .selectAll()
    .where((eb) => eb.or([eb('hash', '=', hash), eb('previous_hash', '=', hash)]))
    .executeTakeFirst();
  if (!row) throw invalid('the session is not known here');
  if (row.ended_at !== null) throw invalid(`the session ended on ${row.ended_at}: ${row.ended_why ?? ''}`);
  if (isFromFuture(row.created_at, now))
    throw invalid(`the session began on ${row.created_at}, while the clock of the hub was ahead`);
  if (row.ends_at <= formatTime(now)) throw invalid(`the session ended on ${row.ends_at}`);
  const seen = parseTime(row.seen_at).getTime();
  if (seen + idleMs <= now.getTime())
    throw invalid(`the session ended, because its last request was on ${row.seen_at}`);
  const isPrevious = row.hash !== hash;
  if (isPrevious && parseTime(row.rotated_at).getTime() + GRACE_MS <= now.getTime()) {
    await endSession(store, row.id, { why: 'an old cookie of it was used', now });
    throw invalid('the session was ended, because an old cookie of it was used');
  }
  // Not a transaction of the store: pages that follow the changes of the hub would take it for one.
  if (seen + SEEN_MS <= now.getTime())
    await store.db
      .updateTable('session')
      .set({ seen_at: formatTime(now) })
      .where('id', '=', row.id)
      .execute();
  return { row, isPrevious };
};

/** @returns the next secret, or undefined while the present one is young enough, or another request has just replaced it */
export const rotateSession = async (
  store: Store,
  { row, isPrevious }: Found,
  now: Date,
): Promise<string | undefined> => {
  if (isPrevious || parseTime(row.rotated_at).getTime() + ROTATE_MS > now.getTime()) return undefined;
  const secret = createSecret();
  const { numUpdatedRows } = await store.transact((tx) =>
    tx
      .updateTable('session')
      .set({ hash: hashSecret(secret), previous_hash: row.hash, rotated_at: formatTime(now) })
      .where('id', '=', row.id)
      .where('hash', '=', row.hash)
      .executeTakeFirst(),
  );
  return numUpdatedRows === 1n ? secret : undefined;
};

/** @returns false if there is no such session that is open */
export const endSession = (
  store: Store,
  id: string,
  { why, now }: { readonly why: string; readonly now: Date },
): Promise<boolean> =>
  store.transact(async (tx) => {
    const { numUpdatedRows } = await tx
      .updateTable('session')
      .set({ ended_at: formatTime(now), ended_why: why })
      .where('id', '=', id)
      .where('ended_at', 'is', null)
      .executeTakeFirst();
    return numUpdatedRows === 1n;
  });

/** Ends the session of this name, or all of a person. @returns how many */
export const endSessionsOf = (
  store: Store,
  name: string,
  { why, now }: { readonly why: string; readonly now: Date },
): Promise<number> =>
  store.transact(async (tx) => {
    const { numUpdatedRows } = await tx
      .updateTable('session')
      .set({ ended_at: formatTime(now), ended_why: why })
      .where((eb) => eb.or([eb('id', '=', name), eb('person', '=', name)]))
      .where('ended_at', 'is', null)
      .where('ends_at', '>', formatTime(now))
      .executeTakeFirst();
    const sessions = Number(numUpdatedRows);
    const change = { change: 'sessions end', about: name, old: { sessions }, new: null };
    if (sessions > 0) await noteChange(tx, change, store.by, now);
    return sessions;
  });

const invalid = (message: string): FleetError =>
  new FleetError('SESSION_INVALID', message, { hint: 'Sign in again' });
