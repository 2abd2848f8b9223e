import { Client } from 'pg';
import { FleetError, toFleetError } from '#bundles/errors';
import { tryExclusiveLock } from '#cli/exclusive-lock';
import { describeDatabase, isDatabaseUrl } from '../../settings/database-url.ts';
import { connectionTo, postgresError } from '../store/postgres-dialect.ts';

/** `lost` aborts when another hub may take the lock although this one was not disposed. */
export type HubLock = AsyncDisposable & { readonly lost: AbortSignal };

/**
 * Allows only one hub per database: two would build and publish concurrently. Other commands do not take this lock. The kernel,
 * or the PostgreSQL server, releases it when the process ends for any reason.
 * @throws FleetError BUSY; for PostgreSQL also PERMISSION, DATABASE_UNREACHABLE
 */
export const lockHub = async (db: string): Promise<HubLock> => {
  const lock = isDatabaseUrl(db) ? await lockDatabase(db) : lockFile(`${db}.hub-lock`);
  if (lock) return lock;
  throw new FleetError('BUSY', `another hub serves with ${describeDatabase(db)}`, {
    hint: 'Stop it first, or give another --db',
  });
};

const lockFile = (file: string): HubLock | undefined => {
  try {
    const lock = tryExclusiveLock(file);
    return (
      lock && {
        lost: new AbortController().signal,
        [Symbol.asyncDispose]: async () => lock[Symbol.dispose](),
      }
    );
  } catch (error) {
    throw toFleetError(error, `locking ${file}`);
  }
};

/** Key of the advisory lock: the bytes of "fleethub". PostgreSQL keeps such locks apart for each database. */
const LOCK_KEY = '7380385375772505442';

/** A session-level advisory lock (PostgreSQL, "Advisory Locks") on a connection of its own, held as long as that connection. */
const lockDatabase = async (url: string): Promise<HubLock | undefined> => {
  const lost = new AbortController();
  const client = new Client(connectionTo(url));
  client.on('error', (error) =>
    lost.abort(postgresError(error, `keeping the lock on ${describeDatabase(url)}`)),
  );
  try {
    await client.connect();
    const { rows } = await client.query<{ taken: boolean }>('select pg_try_advisory_lock($1) as taken', [
      LOCK_KEY,
    ]);
    if (rows[0]?.taken === true)
      return { lost: lost.signal, [Symbol.asyncDispose]: async () => await client.end() };
  } catch (error) {
    await client.end().catch(() => {});
    throw postgresError(error, `locking ${describeDatabase(url)}`);
  }
  await client.end();
  return undefined;
};
