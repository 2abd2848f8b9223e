import { statSync } from 'node:fs';
import { type Dialect, Kysely, type LogEvent, sql } from 'kysely';
import { defined } from '#bundles/defined';
import { FleetError, toFleetError } from '#bundles/errors';
import { fileId } from '#cli/file-id';
import { describeDatabase, isDatabaseUrl } from '../../settings/database-url.ts';
import { migrate } from './migrate.ts';
import { MIGRATIONS } from './migrations.ts';
import { withNamedErrors } from './name-errors.ts';
import { openSqlite } from './sqlite-dialect.ts';
import type { Database, Tables, Tx } from './tables.ts';

/** The hub's open database. One writer at a time; readers never wait. */
/** Person and reason of changes, as the audit log names them. */
export type By = {
  /** null: the program, by a rule. */
  readonly person: string | null;
  readonly reason: string | null;
};

export const BY_RULE: By = { person: null, reason: null };

export type Store = AsyncDisposable & {
  readonly fleet: string;
  /** Person and reason of the changes made through it. */
  readonly by: By;
  readonly db: Database;
  /** Runs `work` in a durable transaction. @throws FleetError BUSY, DISK_FULL, STORE_CORRUPT, IO, or as thrown by `work` */
  readonly transact: <T>(work: (tx: Tx) => Promise<T>) => Promise<T>;
  /** Aborted when `transact` finds that the file was removed or replaced: this process cannot write any more. */
  readonly moved: AbortSignal;
  /** Reserves a name among all replicas until disposal, or the end of this process. @returns undefined while another has it */
  readonly claim: (name: string) => Promise<AsyncDisposable | undefined>;
};

export type StoreOptions = {
  /** undefined: the program, by a rule. */
  readonly by?: By | undefined;
  /** Called after every statement. */
  readonly log?: (event: LogEvent) => void;
  /** Those of the program by default. */
  readonly migrations?: typeof MIGRATIONS;
  /** How long a PostgreSQL server may be silent in the middle of a statement. */
  readonly silenceMs?: number;
};

/** Far longer than any statement of the hub but a migration, which has no limit. */
const STATEMENT_TIMEOUT_MS = 120_000;

/**
 * Opens the database of one fleet's hub and applies migrations: a PostgreSQL database by its URL, which must exist, or a SQLite
 * file, which is created, readable only by its owner. A commit that returned survives a power failure.
 * @throws FleetError WRONG_FLEET for another fleet's database; STORE_NEWER for one that a newer version made unfit for this one;
 *   STORE_CORRUPT, PERMISSION, BUSY, DISK_FULL, IO, DATABASE_UNREACHABLE
 */
export const openStore = async (place: string, fleet: string, options: StoreOptions = {}): Promise<Store> => {
  const name = describeDatabase(place);
  const storeError = isDatabaseUrl(place) ? (await loadPostgres()).postgresError : toFleetError;
  let silenceMs = 0;
  const db = await openDatabase(place, options, () => silenceMs);
  const isFile = !isDatabaseUrl(place);
  try {
    await migrate(db, { name, storeError, isFile, migrations: options.migrations ?? MIGRATIONS });
    await nameOrCheckFleet(db, fleet, place);
    silenceMs = options.silenceMs ?? STATEMENT_TIMEOUT_MS;
  } catch (error) {
    await db.destroy();
    throw storeError(error, `opening ${name}`);
  }
  const opened = isFile ? fileId(place) : undefined;
  const moved = new AbortController();
  return {
    fleet,
    moved: moved.signal,
    by: options.by ?? BY_RULE,
    db,
    transact: async (work) => {
      if (isFile && fileId(place) !== opened) moved.abort(movedError(name));
      moved.signal.throwIfAborted();
      try {
        return await db.transaction().execute(async (tx) => {
          // Writing first takes the write lock, so that no other writer comes between our reads and writes.
          await tx
            .updateTable('fleet')
            .set(({ eb }) => ({ writes: eb('writes', '+', 1) }))
            .execute();
          return work(tx);
        });
      } catch (error) {
        throw storeError(error, `writing ${name}`);
      }
    },
    claim: isDatabaseUrl(place) ? claimInPostgres(place) : claimFile(),
    [Symbol.asyncDispose]: () => db.destroy(),
  };
};

/** Nothing is acknowledged any more: agents delete the events of a receipt, and the hub would have lost them. */
const movedError = (name: string): FleetError =>
  new FleetError(
    'STORE_CORRUPT',
    `${name} was removed or replaced while this process used it, so nothing is written`,
    {
      hint: 'Put the right database there; a hub ends, and its service manager starts it again',
    },
  );

/** The first of the two integers that name a claim's advisory lock: the bytes of "flee". */
const CLAIMS = 0x666c6565;

const claimInPostgres =
  (url: string): Store['claim'] =>
  async (name) => {
    const { takeSessionLock } = await import('./session-lock.ts');
    return await takeSessionLock(url, { key: `${CLAIMS}, hashtext($1)`, name });
  };

/** One process serves a SQLite file. */
const claimFile = (): Store['claim'] => {
  const claimed = new Set<string>();
  return async (name) => {
    if (claimed.has(name)) return undefined;
    claimed.add(name);
    return { [Symbol.asyncDispose]: async () => void claimed.delete(name) };
  };
};

/** The client of PostgreSQL is loaded for its databases alone: commands with a file start without it. */
const loadPostgres = () => import('./postgres-dialect.ts');

const openDatabase = async (
  place: string,
  { log }: StoreOptions,
  silenceMs: () => number,
): Promise<Database> => {
  const asking = `asking ${describeDatabase(place)}`;
  const open = (dialect: Dialect): Database => new Kysely<Tables>(defined({ dialect, log }));
  if (isDatabaseUrl(place)) {
    const { openPostgres, postgresError } = await loadPostgres();
    return open(withNamedErrors(openPostgres(place, silenceMs), postgresError, asking));
  }
  try {
    return open(withNamedErrors(await openSqlite(place), toFleetError, asking));
  } catch (error) {
    throw toFleetError(error, `opening ${place}`);
  }
};

const hasContent = (file: string): boolean => (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 0;

/**
 * Does the database exist, and for PostgreSQL: does it have the tables of a hub?
 * @throws FleetError PERMISSION, DATABASE_UNREACHABLE, USAGE for a PostgreSQL database that cannot be opened
 */
export const storeExists = async (place: string): Promise<boolean> => {
  // SQLite takes an empty file for a new database. That of a running hub is empty until its log is copied into it.
  if (!isDatabaseUrl(place)) return [place, `${place}-wal`].some(hasContent);
  const { openPostgres, postgresError } = await loadPostgres();
  const db = new Kysely<unknown>({ dialect: openPostgres(place) });
  try {
    const { rows } = await sql<{ found: boolean }>`select to_regclass('fleet') is not null as found`.execute(
      db,
    );
    return rows[0]?.found === true;
  } catch (error) {
    throw postgresError(error, `opening ${describeDatabase(place)}`);
  } finally {
    await db.destroy();
  }
};

/** Writes the name of the fleet into a new database, and refuses the database of another fleet. @throws FleetError WRONG_FLEET */
const nameOrCheckFleet = async (db: Database, fleet: string, place: string): Promise<void> => {
  refuseOther((await fleetOf(db)) ?? (await nameFleet(db, fleet, place)), fleet, place);
};

/** @throws FleetError WRONG_FLEET */
export const checkFleet = async (db: Database, fleet: string, place: string): Promise<void> => {
  refuseOther((await fleetOf(db)) ?? fleet, fleet, place);
};

/** The fleet that a database is of; undefined: it is new. */
const fleetOf = async (db: Database): Promise<string | undefined> =>
  (await db.selectFrom('fleet').select('name').executeTakeFirst())?.name;

const refuseOther = (name: string, fleet: string, place: string): void => {
  if (name === fleet) return;
  throw new FleetError(
    'WRONG_FLEET',
    `${describeDatabase(place)} is the database of fleet ${name}, the keys are of ${fleet}`,
    { hint: 'Give the --db that belongs to these --keys' },
  );
};

/** Writes the name of the fleet into a new database. Of hubs that start at the same time, one writes its name. @returns the name that is there */
const nameFleet = (db: Database, fleet: string, place: string): Promise<string> =>
  db.transaction().execute(async (tx) => {
    // SQLite has one writer at a time.
    if (isDatabaseUrl(place)) await sql`lock table fleet in share row exclusive mode`.execute(tx);
    await tx
      .insertInto('fleet')
      .columns(['name', 'writes'])
      .expression((eb) =>
        eb
          .selectFrom(
            eb
              .selectFrom('fleet')
              .select(({ fn }) => fn.countAll().as('rows'))
              .as('known'),
          )
          .select([eb.val(fleet).as('name'), eb.val(0).as('writes')])
          .where('known.rows', '=', 0),
      )
      .execute();
    return (await tx.selectFrom('fleet').select('name').executeTakeFirstOrThrow()).name;
  });
