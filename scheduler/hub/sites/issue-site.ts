import { compareBytes } from '#bundles/digest';
import type { SiteValues } from '#bundles/statements/predicates';
import type { SigningKey } from '#bundles/trust/key';
import type { TrustRoot } from '#bundles/trust/root';
import type { SiteRow, Tx } from '../store/tables.ts';
import { toSiteAgent } from './agent-record.ts';
import { signSite } from './sign-site.ts';

/** What signs site statements. */
export type SiteSigner = { readonly root: TrustRoot; readonly release: SigningKey };

export const siteValuesOf = (row: SiteRow | undefined, fleet: string, site: string): SiteValues =>
  row ? (JSON.parse(row.site_values) as SiteValues) : { fleet, site, values: {}, agents: {} };

/**
 * The next statement of a site as its agents and values now stand, in the transaction that changed them: a version
 * that was signed is stored before anybody can see it, so that no second content ever gets its number.
 */
export const issueSite = async (
  tx: Tx,
  site: string,
  signer: SiteSigner,
  now: Date,
  values?: SiteValues,
): Promise<SiteRow> => {
  const before = await tx.selectFrom('site').selectAll().where('name', '=', site).executeTakeFirst();
  const agents = await tx
    .selectFrom('agent')
    .selectAll()
    .where('site', '=', site)
    .where('revoked_at', 'is', null)
    .execute();
  const version = (before?.version ?? 0) + 1;
  const order = {
    site,
    version,
    agents: agents.toSorted((a, b) => compareBytes(a.name, b.name)).map(toSiteAgent),
    values: values ?? siteValuesOf(before, signer.root.fleet, site),
  };
  const signed = await signSite(order, signer.root, signer.release, now);
  const row: SiteRow = {
    name: site,
    version,
    site_values: signed.values.toString('utf8'),
    statement: signed.statement.toString('utf8'),
    payload: signed.payload,
    issued_at: signed.issuedAt,
    expires_at: signed.expires,
  };
  const { name: _, ...columns } = row;
  await tx
    .insertInto('site')
    .values(row)
    .onConflict((conflict) => conflict.column('name').doUpdateSet(columns))
    .execute();
  return row;
};
