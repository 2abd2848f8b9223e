import { type Digest, isDigest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { MAX_STATEMENT_BYTES, parseEnvelope } from '#bundles/formats/statements/envelope';
import { parseStrictJson } from '#bundles/json/strict-json';
import { describeDatabase } from '../../../settings/database-url.ts';
import { newestReports } from '../../sites/newest-reports.ts';
import { openStore, storeExists } from '../../store/open-store.ts';

/**
 * Digests of the bundles that sites hold, from the newest report of each agent: `fleet-export --for` leaves them out of a medium.
 * The hub verified the reports on arrival. Empty without a `db`.
 * @throws FleetError SITE_MISSING if the database does not exist, WRONG_FLEET, STORE_CORRUPT, PERMISSION
 */
export const readHeld = async (db: string | undefined, fleet: string): Promise<ReadonlySet<Digest>> => {
  const held = new Set<Digest>();
  if (db === undefined) return held;
  if (!(await storeExists(db)))
    throw new FleetError(
      'SITE_MISSING',
      `there is no hub database at ${describeDatabase(db)}, so what sites hold is not known`,
      {
        hint: 'Check --db: without it, what they hold could be removed',
      },
    );
  await using store = await openStore(db, fleet);
  for (const { statement } of await newestReports(store.db))
    for (const digest of heldDigestsIn(statement)) held.add(digest);
  return held;
};

const heldDigestsIn = (statement: string): readonly Digest[] => {
  const { payload } = parseEnvelope(Buffer.from(statement), 'a report');
  const json = parseStrictJson(payload, { maxBytes: MAX_STATEMENT_BYTES }, 'a report') as {
    readonly predicate?: { readonly holds?: unknown } | null;
  } | null;
  const holds = json?.predicate?.holds;
  return Array.isArray(holds) ? holds.filter(isDigest) : [];
};
