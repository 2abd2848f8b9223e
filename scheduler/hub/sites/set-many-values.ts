import { compareBytes } from '#bundles/digest';
import type { SiteValues } from '#bundles/formats/statements/predicates';
import { type Change, noteChange } from '../changes/note-change.ts';
import type { Store } from '../store/open-store.ts';
import type { SiteRow, Tx } from '../store/tables.ts';
import { issueSite, type SiteSigner, siteValuesOf } from './issue-site.ts';
import { changedValues, changeValues, findSite, type ValueChange } from './set-values.ts';

/** One site's changes, all of which its next statement has. */
export type PlannedSite = {
  readonly site: string;
  readonly row: SiteRow;
  readonly after: SiteValues;
  /** For the audit log, and for people: of the site, or of one of its agents. Values that seem to be secrets are withheld. */
  readonly changes: readonly Omit<Change, 'change'>[];
};

/**
 * The sites whose values would differ, sorted. @throws FleetError SITE_MISSING, AGENT_UNKNOWN
 */
export const planValues = async (
  db: Tx | Store['db'],
  fleet: string,
  changes: readonly ValueChange[],
): Promise<readonly PlannedSite[]> => {
  const planned: PlannedSite[] = [];
  const bySite = Map.groupBy(changes, ({ site }) => site);
  for (const [site, own] of [...bySite].toSorted(([a], [b]) => compareBytes(a, b))) {
    let row: SiteRow | undefined;
    for (const { agent } of own) row = await findSite(db, site, agent);
    if (!row) continue;
    let values = siteValuesOf(row, fleet, site);
    const noted = own.flatMap((change) => {
      const before = values;
      values = changeValues(before, change);
      return changedValues(before, values, change);
    });
    if (noted.length > 0) planned.push({ site, row, after: values, changes: noted });
  }
  return planned;
};

/**
 * Sets values of many sites in one transaction: either all have them or none, and each site that differs gets one statement.
 * @returns the new rows of the sites that differ @throws FleetError SITE_MISSING, AGENT_UNKNOWN, or the error of signing
 */
export const setManyValues = (
  store: Store,
  changes: readonly ValueChange[],
  signer: SiteSigner,
  now: Date,
): Promise<readonly SiteRow[]> =>
  store.transact(async (tx) => {
    const issued: SiteRow[] = [];
    for (const { site, after, changes: noted } of await planValues(tx, signer.root.fleet, changes)) {
      for (const one of noted) await noteChange(tx, { change: 'sites set', ...one }, store.by, now);
      issued.push(await issueSite(tx, site, signer, now, after));
    }
    return issued;
  });
