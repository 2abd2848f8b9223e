import { toFleetError } from '#bundles/errors';
import { Kysely } from 'kysely';
import { describeDatabase, isDatabaseUrl } from '../../settings/database-url.ts';
import { appliedIn, checkNewer } from './migrate.ts';
import { MIGRATIONS } from './migrations.ts';
import { checkFleet } from './open-store.ts';
import { openPostgres, postgresError } from './postgres-dialect.ts';
import { openSqliteToRead } from './sqlite-dialect.ts';
import type { Tables } from './tables.ts';

/**
 * Counts the sites in an existing database of a hub, and the migrations of this program that it lacks, without a change.
 * @throws FleetError WRONG_FLEET, STORE_NEWER, STORE_CORRUPT, PERMISSION, DATABASE_UNREACHABLE
 */
export const examineStore = async (
  place: string,
  fleet: string,
): Promise<{ readonly sites: number; readonly missing: number }> => {
  const name = describeDatabase(place);
  const storeError = isDatabaseUrl(place) ? postgresError : toFleetError;
  try {
    await using db = new Kysely<Tables>({
      dialect: isDatabaseUrl(place) ? openPostgres(place) : openSqliteToRead(place),
    });
    const applied = await appliedIn(db);
    if (applied.some((one) => !(one in MIGRATIONS))) await checkNewer(db, { name, migrations: MIGRATIONS });
    await checkFleet(db, fleet, place);
    const { sites } = await db
      .selectFrom('site')
      .select(({ fn }) => fn.countAll<number>().as('sites'))
      .executeTakeFirstOrThrow();
    const known = new Set(applied);
    return { sites, missing: Object.keys(MIGRATIONS).filter((one) => !known.has(one)).length };
  } catch (error) {
    throw storeError(error, `reading ${name}`);
  }
};
