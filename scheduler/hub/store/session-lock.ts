import { Client } from 'pg';
import { defined } from '#bundles/defined';
import { describeDatabase } from '../../settings/database-url.ts';
import { connectionTo, postgresError } from './postgres-dialect.ts';

/** A lock of a PostgreSQL database, held as long as its connection. */
export type SessionLock = AsyncDisposable & {
  /** Aborts when another process may take the lock although this one was not disposed. */
  readonly lost: AbortSignal;
  /** Proves that the lock is still held, by a question over its connection. @throws FleetError DATABASE_UNREACHABLE */
  readonly confirm: () => Promise<void>;
};

export type SessionLockOptions = {
  /** SQL of the two integers, or the one bigint, that name the lock, with $1 for `name`. */
  readonly key: string;
  readonly name: string;
  /** Statements for the connection, run before the lock is taken. */
  readonly settings?: readonly string[];
  /** How long the server may take to answer. Past it the lock counts as lost. */
  readonly answerMs?: number;
  /** Called for each notification on the channels that `settings` listens to. */
  readonly onNotice?: (payload: string) => void;
};

/** How long to wait for the end of a connection that may not answer any more. */
const END_MS = 1_000;

/**
 * Takes a session-level advisory lock (PostgreSQL, "Advisory Locks") on a connection of its own. The server releases it when the
 * process ends for any reason. A pooler between must keep the session: with transaction pooling the lock would be lost at once.
 * @returns undefined while another session holds it @throws FleetError PERMISSION, USAGE, DATABASE_UNREACHABLE
 */
export const takeSessionLock = async (
  url: string,
  { key, name, settings = [], answerMs, onNotice }: SessionLockOptions,
): Promise<SessionLock | undefined> => {
  const lost = new AbortController();
  const lose = (error: unknown): void =>
    lost.abort(postgresError(error, `keeping the lock on ${describeDatabase(url)}`));
  const client = new Client({
    ...connectionTo(url),
    ...defined({ query_timeout: answerMs }),
  });
  client.on('error', lose);
  if (onNotice) client.on('notification', ({ payload }) => onNotice(payload ?? ''));
  const end = async (): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const timer = setTimeout(resolve, END_MS);
    await Promise.race([client.end().catch(() => {}), promise]);
    clearTimeout(timer);
  };
  try {
    await client.connect();
    for (const statement of settings) await client.query(statement);
    const { rows } = await client.query<{ taken: boolean }>(
      `select pg_try_advisory_lock(${key}) as taken`,
      key.includes('$1') ? [name] : [],
    );
    if (rows[0]?.taken !== true) {
      await end();
      return undefined;
    }
  } catch (error) {
    await end();
    throw postgresError(error, `locking ${describeDatabase(url)}`);
  }
  return {
    lost: lost.signal,
    confirm: async () => {
      lost.signal.throwIfAborted();
      try {
        await client.query('select 1');
      } catch (error) {
        lose(error);
      }
      lost.signal.throwIfAborted();
    },
    [Symbol.asyncDispose]: end,
  };
};
