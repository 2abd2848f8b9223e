import { compareBytes } from '#bundles/digest';
import { decidedValues } from '#bundles/formats/author-schema/decided-values';
import type { SiteValues } from '#bundles/formats/statements/predicates';
import { type Change, type NotedChange, noteChange } from '../changes/note-change.ts';
import type { By, Store } from '../store/open-store.ts';
import type { SiteRow, Tx } from '../store/tables.ts';
import { issueSite, type SiteSigner, siteValuesOf } from './issue-site.ts';
import { changeValues, findSite, type ValueChange } from './set-values.ts';

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
    for (const agent of new Set(own.map((one) => one.agent))) row = await findSite(db, site, agent);
    if (!row) continue;
    const before = siteValuesOf(row, fleet, site);
    const after = own.reduce(changeValues, before);
    const noted = decidedValues(before, after);
    if (noted.length > 0) planned.push({ site, row, after, changes: noted });
  }
  return planned;
};

export type ManyChanges = {
  readonly changes: readonly ValueChange[];
  readonly signer: SiteSigner;
  readonly now: Date;
  /** Name in the audit log; 'sites set' without. */
  readonly change?: string | undefined;
  /** Person and reason; undefined: those of the store. */
  readonly by?: By;
  /** Runs first in the transaction, and ends it by an error. */
  readonly within?: ((tx: Tx) => Promise<void>) | undefined;
};

/**
 * Sets values of many sites in one transaction: either all have them or none, and each site that differs gets one statement.
 * @returns the new rows of the sites that differ @throws FleetError SITE_MISSING, AGENT_UNKNOWN, or the error of signing
 */
export const setManyValues = (
  store: Store,
  { changes, signer, now, change = 'sites set', by = store.by, within }: ManyChanges,
): Promise<readonly SiteRow[]> =>
  store.transact(async (tx) => {
    await within?.(tx);
    const issued: SiteRow[] = [];
    for (const { site, after, changes: noted } of await planValues(tx, signer.root.fleet, changes)) {
      const decided: NotedChange[] = [];
      for (const one of noted) decided.push(await noteChange(tx, { change, ...one }, by, now));
      issued.push(await issueSite(tx, site, { ...signer, by, decided }, now, after));
    }
    return issued;
  });
