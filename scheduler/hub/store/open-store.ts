import { Kysely, type LogEvent } from 'kysely';
import { Migrator } from 'kysely/migration';
import { FleetError } from '#bundles/errors';
import { MIGRATIONS } from './migrations.ts';
import { openSqlite, sqliteError } from './sqlite-dialect.ts';
import type { Database, Tables, Tx } from './tables.ts';

/** The hub's open database. One writer at a time; readers never wait. */
export type Store = AsyncDisposable & {
  readonly fleet: string;
  readonly db: Database;
  /** Runs `work` in a durable transaction. @throws FleetError BUSY, DISK_FULL, STORE_CORRUPT, IO, or as thrown by `work` */
  readonly transact: <T>(work: (tx: Tx) => Promise<T>) => Promise<T>;
};

export type StoreOptions = {
  /** Called after every statement. */
  readonly log?: (event: LogEvent) => void;
};

/**
 * Opens or creates the SQLite file of one fleet's hub, readable only by its owner, and applies migrations. A commit that
 * returned survives a power failure.
 * @throws FleetError WRONG_FLEET for another fleet's file; STORE_CORRUPT, also for a file of a newer version; PERMISSION, BUSY,
 *   DISK_FULL, IO
 */
export const openStore = async (file: string, fleet: string, options: StoreOptions = {}): Promise<Store> => {
  const db = await openDatabase(file, options);
  try {
    await migrate(db, file);
    await checkFleet(db, fleet, file);
  } catch (error) {
    await db.destroy();
    throw sqliteError(error, `opening ${file}`);
  }
  return {
    fleet,
    db,
    transact: async (work) => {
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
        throw sqliteError(error, `writing ${file}`);
      }
    },
    [Symbol.asyncDispose]: () => db.destroy(),
  };
};

const openDatabase = async (file: string, { log }: StoreOptions): Promise<Database> => {
  try {
    return new Kysely<Tables>({ dialect: await openSqlite(file), ...(log && { log }) });
  } catch (error) {
    throw sqliteError(error, `opening ${file}`);
  }
};

const migrate = async (db: Database, file: string): Promise<void> => {
  const migrator = new Migrator({ db, provider: { getMigrations: async () => ({ ...MIGRATIONS }) } });
  const { error } = await migrator.migrateToLatest();
  if (error === undefined) return;
  if (error instanceof Error && error.message.startsWith('corrupted migrations')) {
    throw new FleetError('STORE_CORRUPT', `${file} was made by a newer version of this program`, {
      hint: 'Update this program first',
      cause: error,
    });
  }
  throw error;
};

const checkFleet = async (db: Database, fleet: string, file: string): Promise<void> => {
  await db
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
  const { name } = await db.selectFrom('fleet').select('name').executeTakeFirstOrThrow();
  if (name === fleet) return;
  throw new FleetError('WRONG_FLEET', `${file} is the database of fleet ${name}, the keys are of ${fleet}`, {
    hint: 'Give the --db that belongs to these --keys',
  });
};
