import { existsSync } from 'node:fs';
import { type Digest, isDigest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { MAX_STATEMENT_BYTES, parseEnvelope } from '#bundles/statements/envelope';
import { parseStrictJson } from '#bundles/strict-json';
import { openStore } from '../../hub/store/open-store.ts';

/**
 * Bundles that sites hold by the newest report of each agent: what `fleet-export --for` leaves out of a medium. The hub
 * verified the reports when they came. Empty without a `db`.
 * @throws FleetError SITE_MISSING where the file is not there, WRONG_FLEET, STORE_CORRUPT, PERMISSION ...
 */
export const readHeld = async (db: string | undefined, fleet: string): Promise<ReadonlySet<Digest>> => {
  const held = new Set<Digest>();
  if (db === undefined) return held;
  if (!existsSync(db))
    throw new FleetError(
      'SITE_MISSING',
      `there is no hub database at ${db}, so what sites hold is not known`,
      {
        hint: 'Check --db: without it, what they hold could be removed',
      },
    );
  await using store = await openStore(db, fleet);
  const reports = await store.db
    .selectFrom('report')
    .innerJoin('agent', (join) =>
      join.onRef('agent.id', '=', 'report.agent').onRef('agent.life', '=', 'report.life'),
    )
    .select(['report.agent', 'report.statement', 'report.last_seq'])
    .where('agent.revoked_at', 'is', null)
    .where('report.apart', '=', 0)
    .orderBy('report.last_seq')
    .orderBy('report.received_at')
    .execute();
  const newest = new Map(reports.map(({ agent, statement }) => [agent, statement]));
  for (const statement of newest.values()) for (const digest of holdsIn(statement)) held.add(digest);
  return held;
};

const holdsIn = (statement: string): readonly Digest[] => {
  const { payload } = parseEnvelope(Buffer.from(statement), 'a report');
  const json = parseStrictJson(payload, { maxBytes: MAX_STATEMENT_BYTES }, 'a report') as {
    readonly predicate?: { readonly holds?: unknown } | null;
  } | null;
  const holds = json?.predicate?.holds;
  return Array.isArray(holds) ? holds.filter(isDigest) : [];
};
