import { FleetError } from '#bundles/errors';
import { formatTime } from '#bundles/time';
import { noteChange } from '../../changes/note-change.ts';
import type { Store } from '../../store/open-store.ts';
import type { Database, SiteRow } from '../../store/tables.ts';
import { issueSite, type SiteSigner } from '../issue-site.ts';
import { siteAgents } from './readers.ts';

/**
 * Removes a secret set. The next site statement no longer names it, and agents delete it. Its version is never reused.
 * @throws FleetError SITE_MISSING, SECRET_MISSING
 */
export const removeSecrets = (
  store: Store,
  { site, name }: { readonly site: string; readonly name: string },
  signer: SiteSigner,
  now: Date,
): Promise<SiteRow> =>
  store.transact(async (tx) => {
    await siteAgents(tx, site);
    const there = await findSet(tx, site, name);
    if (!there) throw setMissing(site, name);
    await tx
      .updateTable('secret_set')
      .set({ digest: null, sealed: null, recipients: '[]', agents: null, sealed_at: formatTime(now) })
      .where('site', '=', site)
      .where('name', '=', name)
      .execute();
    const old = { version: there.version };
    await noteChange(
      tx,
      { change: 'secrets remove', about: `${site}/${name}`, old, new: null },
      store.by,
      now,
    );
    return issueSite(tx, site, signer, now);
  });

const findSet = (db: Database, site: string, name: string) =>
  db
    .selectFrom('secret_set')
    .select('version')
    .where('site', '=', site)
    .where('name', '=', name)
    .where('sealed', 'is not', null)
    .executeTakeFirst();

export const setMissing = (site: string, name: string): FleetError =>
  new FleetError('SECRET_MISSING', `site ${site} has no secret set ${name}`, {
    hint: `See what there is with fleet-scheduler secrets list --site ${site}`,
  });
