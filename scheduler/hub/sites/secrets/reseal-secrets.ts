import { canonicalJson } from '#bundles/json/canonical';
import { openSecretSet } from '#bundles/trust/secrets/open';
import { sealSecretSet } from '#bundles/trust/secrets/seal';
import { noteChange } from '../../changes/note-change.ts';
import type { Store } from '../../store/open-store.ts';
import type { AgentRow, SiteRow, Tx } from '../../store/tables.ts';
import { issueSite, type SiteSigner } from '../issue-site.ts';
import { readSecretSets, type StoredSet } from '../secret-sets.ts';
import { recipientsOf, siteAgents } from './readers.ts';
import { setMissing } from './remove-secrets.ts';
import { storeSet } from './store-set.ts';

export type ResealRequest = {
  readonly site: string;
  /** Only this set; undefined: all sets of the site. */
  readonly name: string | undefined;
  /** age identities of the escrow. The hub itself has no identity that opens a set. */
  readonly identities: readonly string[];
  readonly escrow: string | undefined;
};

export type Resealed = {
  readonly site: SiteRow;
  /** Names of the sets that were sealed to other recipients. */
  readonly resealed: readonly string[];
  readonly unchanged: readonly string[];
};

/**
 * Seals the sets of a site to its current agents, in one transaction. Content and version stay the same. Sets that already
 * have exactly these recipients are not changed.
 * @throws FleetError SITE_MISSING, SECRET_MISSING, RECIPIENT_MISSING; SECRET_UNREADABLE if the identities do not open a set
 */
export const resealSecrets = (
  store: Store,
  { site, name, identities, escrow }: ResealRequest,
  signer: SiteSigner,
  now: Date,
): Promise<Resealed> =>
  store.transact(async (tx) => {
    const agents = await siteAgents(tx, site);
    const sets = (await readSecretSets(tx, site)).filter((set) => name === undefined || set.name === name);
    if (name !== undefined && sets.length === 0) throw setMissing(site, name);
    const resealed: string[] = [];
    for (const set of sets) {
      const address = { fleet: signer.root.fleet, site, name: set.name };
      const meant = meantFor(set, agents);
      const recipients = recipientsOf(site, meant, escrow);
      if (canonicalJson(recipients) === canonicalJson(set.recipients)) continue;
      const content = await openSecretSet(set.sealed, identities, address);
      const sealed = await sealSecretSet(content, recipients);
      const only = set.agents && meant.map((agent) => agent.name);
      await storeSet(
        tx,
        { site, name: set.name, version: set.version, sealed, recipients, agents: only },
        now,
      );
      const change = {
        change: 'secrets reseal',
        about: `${site}/${set.name}`,
        old: { recipients: [...set.recipients] },
        new: { recipients: [...recipients] },
      };
      await noteChange(tx, change, store.by, now);
      resealed.push(set.name);
    }
    return {
      site: resealed.length > 0 ? await issueSite(tx, site, signer, now) : await siteOf(tx, site),
      resealed,
      unchanged: sets.map((set) => set.name).filter((it) => !resealed.includes(it)),
    };
  });

/** The current agents that a set is meant for. */
const meantFor = ({ agents: only }: StoredSet, agents: readonly AgentRow[]): readonly AgentRow[] =>
  only ? agents.filter((agent) => only.includes(agent.name)) : agents;

const siteOf = (tx: Tx, site: string): Promise<SiteRow> =>
  tx.selectFrom('site').selectAll().where('name', '=', site).executeTakeFirstOrThrow();
