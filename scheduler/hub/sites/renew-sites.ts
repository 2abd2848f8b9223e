import { isFleetError } from '#bundles/errors';
import { PREDICATES } from '#bundles/media-types';
import type { Timestamp } from '#bundles/time';
import { verifyStatement } from '#bundles/trust/statements/verify-statement';
import { abortIfAsked } from '../refused.ts';
import { noteChange } from '../changes/note-change.ts';
import type { Store } from '../store/open-store.ts';
import { parts } from '../store/parts.ts';
import type { SiteRow } from '../store/tables.ts';
import { issueSite, type SiteSigner } from './issue-site.ts';

/** Sites that are renewed in one transaction, so that they share a commit. */
const BATCH = 200;

/**
 * Issues new statements for sites whose statement expires before a date or no longer verifies under the newest root.
 * @returns the renewed sites
 * @throws FleetError ABORTED between two transactions; of issueSite
 */
export const renewSites = async (
  store: Store,
  signer: SiteSigner,
  before: Timestamp,
  now: Date,
  signal?: AbortSignal,
): Promise<readonly SiteRow[]> => {
  const sites = await store.db.selectFrom('site').selectAll().orderBy('name').execute();
  const due = sites.filter((site) => site.expires_at < before || !stillVerifies(site, signer));
  const renewed: SiteRow[] = [];
  for (const part of parts(due, BATCH)) {
    abortIfAsked(signal);
    renewed.push(
      ...(await store.transact(async (tx) => {
        const rows: SiteRow[] = [];
        for (const site of part) {
          const row = await issueSite(tx, site.name, signer, now);
          const change = { change: 'sites renew', about: site.name, old: endOf(site), new: endOf(row) };
          await noteChange(tx, change, store.by, now);
          rows.push(row);
        }
        return rows;
      })),
    );
  }
  return renewed;
};

const endOf = ({ version, expires_at: expires }: SiteRow) => ({ statement: version, expires });

const stillVerifies = ({ statement, name }: SiteRow, { root }: SiteSigner): boolean => {
  try {
    verifyStatement(
      [Buffer.from(statement)],
      root.roles.release,
      PREDICATES.site,
      `the statement of ${name}`,
    );
    return true;
  } catch (error) {
    if (isFleetError(error)) return false;
    throw error;
  }
};
