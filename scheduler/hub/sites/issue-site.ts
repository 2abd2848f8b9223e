import { compareBytes } from '#bundles/digest';
import { parseJson } from '#bundles/parse-json';
import type { SiteAgent, SiteValues } from '#bundles/statements/predicates';
import type { SigningKey } from '#bundles/trust/key';
import type { TrustRoot } from '#bundles/trust/root';
import { signNewer } from '../../sign/sign-newer.ts';
import type { AgentRow, SiteRow, Tx } from '../store/tables.ts';
import { toSiteAgent } from './agent-record.ts';
import { enrolledAgents } from './enrolled-agents.ts';
import { readSecretSets, type StoredSet, unreadableBy } from './secret-sets.ts';
import { signSite } from './sign-site.ts';

/** What signs site statements. */
export type SiteSigner = { readonly root: TrustRoot; readonly release: SigningKey };

export const siteValuesOf = (row: SiteRow | undefined, fleet: string, site: string): SiteValues =>
  row ? (parseJson(row.site_values) as SiteValues) : { fleet, site, values: {}, agents: {} };

/** What the lists of sets that agents cannot read may take of a statement; the order of the site goes before them. */
const MAX_UNREADABLE_BYTES = 8 << 10;

const siteAgents = (rows: readonly AgentRow[], sets: readonly StoredSet[]): readonly SiteAgent[] => {
  const sorted = rows.toSorted((a, b) => compareBytes(a.name, b.name));
  const lists = sorted.map((row) => unreadableBy(row, sets));
  const fits = JSON.stringify(lists).length <= MAX_UNREADABLE_BYTES;
  return sorted.map((row, at) => toSiteAgent(row, fits ? lists[at] : []));
};

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
  const agents = await enrolledAgents(tx, site);
  const sets = await readSecretSets(tx, site);
  const order = {
    site,
    agents: siteAgents(agents, sets),
    sealed: sets.map(({ name, digest }) => ({ name, digest })),
    values: values ?? siteValuesOf(before, signer.root.fleet, site),
  };
  const signed = await signNewer((before?.version ?? 0) + 1, async (version) => ({
    version,
    ...(await signSite({ ...order, version }, signer.root, signer.release, now)),
  }));
  const row: SiteRow = {
    name: site,
    version: signed.version,
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
