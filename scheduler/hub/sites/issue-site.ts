import { compareBytes } from '#bundles/digest';
import { parseJson } from '#bundles/json/parse-json';
import type { SiteAgent, SiteValues, SupportRequest } from '#bundles/formats/statements/predicates';
import { signNewer } from '../../release/sign/sign-newer.ts';
import type { AgentRow, SiteRow, Tx } from '../store/tables.ts';
import { toSiteAgent } from './agent-record.ts';
import { enrolledAgents } from './enrolled-agents.ts';
import { openRequests } from './open-requests.ts';
import { recordValues } from './record-values.ts';
import { readSecretSets, type StoredSet, unreadableBy } from './secret-sets.ts';
import { showDecision } from './show-decision.ts';
import { signSite } from './sign-site.ts';
import type { SiteSigner } from './site-signer.ts';

export type { SiteSigner } from './site-signer.ts';

export const siteValuesOf = (row: SiteRow | undefined, fleet: string, site: string): SiteValues =>
  row ? (parseJson(row.site_values) as SiteValues) : { fleet, site, values: {}, agents: {} };

/** Size limit for the lists of unreadable sets. Beyond it they are left out, so that the statement stays within its limit. */
const MAX_UNREADABLE_BYTES = 8 << 10;

const siteAgents = (
  rows: readonly AgentRow[],
  sets: readonly StoredSet[],
  requests: ReadonlyMap<string, SupportRequest>,
): readonly SiteAgent[] => {
  const sorted = rows.toSorted((a, b) => compareBytes(a.name, b.name));
  const lists = sorted.map((row) => unreadableBy(row, sets));
  const fits = JSON.stringify(lists).length <= MAX_UNREADABLE_BYTES;
  return sorted.map((row, at) => toSiteAgent(row, fits ? lists[at] : [], requests.get(row.id)));
};

/**
 * Signs and stores the next statement of a site from its current agents, values and secrets, in the transaction that changed
 * them. A signed version is stored before it is published, so that no version is issued twice with different content.
 * @param values undefined: unchanged
 * @param floor a version that was given out, although the database may not have it
 * @throws FleetError ROLLBACK if the layout has a newer statement; of signSite
 */
export const issueSite = async (
  tx: Tx,
  site: string,
  signer: SiteSigner,
  now: Date,
  values?: SiteValues,
  floor = 0,
): Promise<SiteRow> => {
  const before = await tx.selectFrom('site').selectAll().where('name', '=', site).executeTakeFirst();
  await signer.checkOwn(before ?? { name: site, version: 0 }, floor);
  const agents = await enrolledAgents(tx, site);
  const sets = await readSecretSets(tx, site);
  const order = {
    site,
    agents: siteAgents(agents, sets, await openRequests(tx, site, now)),
    sealed: sets.map(({ name, digest }) => ({ name, digest })),
    values: values ?? siteValuesOf(before, signer.root.fleet, site),
  };
  const evidence = await showDecision(before, order.values, signer);
  const signed = await signNewer(Math.max(before?.version ?? 0, floor) + 1, async (version) => ({
    version,
    ...(await signSite({ ...order, version, evidence }, signer.root, signer.release, now)),
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
  await recordValues(tx, before, row, signer.by);
  return row;
};
