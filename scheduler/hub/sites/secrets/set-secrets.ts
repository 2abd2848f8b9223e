import { compareBytes } from '#bundles/digest';
import { sealSecretSet } from '#bundles/trust/secrets/seal';
import type { SecretSet } from '#bundles/trust/secrets/secret-set';
import { noteChange } from '../../changes/note-change.ts';
import type { Store } from '../../store/open-store.ts';
import type { SiteRow } from '../../store/tables.ts';
import { issueSite, type SiteSigner } from '../issue-site.ts';
import { intendedAgents, recipientsOf } from './readers.ts';
import { storeSet } from './store-set.ts';

export type SetSecretsRequest = Pick<SecretSet, 'site' | 'name' | 'values'> & {
  /** Only these agents of the site; undefined: all agents. */
  readonly agents: readonly string[] | undefined;
  /** age recipient of the escrow. */
  readonly escrow: string | undefined;
};

export type SecretsSet = {
  readonly site: SiteRow;
  readonly version: number;
  /** Names of the agents that can open it. */
  readonly readers: readonly string[];
};

/**
 * Seals a set, replacing the previous one as a whole, and issues the next site statement, which names it. Only the sealed file
 * is stored; the plaintext is not kept.
 * @throws FleetError SITE_MISSING, AGENT_UNKNOWN, RECIPIENT_MISSING, TOO_LARGE, TOO_MANY
 */
export const setSecrets = (
  store: Store,
  { site, name, values, agents: only, escrow }: SetSecretsRequest,
  signer: SiteSigner,
  now: Date,
): Promise<SecretsSet> =>
  store.transact(async (tx) => {
    const agents = await intendedAgents(tx, site, only);
    const recipients = recipientsOf(site, agents, escrow);
    const before = await tx
      .selectFrom('secret_set')
      .select('version')
      .where('site', '=', site)
      .where('name', '=', name)
      .executeTakeFirst();
    const version = (before?.version ?? 0) + 1;
    const { fleet } = signer.root;
    const sealed = await sealSecretSet({ fleet, site, name, version, values }, recipients);
    const meant = only && [...new Set(only)].toSorted(compareBytes);
    await storeSet(tx, { site, name, version, sealed, recipients, agents: meant }, now);
    const readers = agents.map((agent) => agent.name);
    await noteChange(
      tx,
      {
        change: 'secrets set',
        about: `${site}/${name}`,
        old: before ? { version: before.version } : null,
        new: { version, keys: Object.keys(values).toSorted(compareBytes), readers },
      },
      store.by,
      now,
    );
    return {
      site: await issueSite(tx, site, signer, now),
      version,
      readers,
    };
  });
