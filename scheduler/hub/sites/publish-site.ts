import { digestOf } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { openOrStartLayout } from '#bundles/formats/layout/layout';
import { SITE_ARTIFACT } from '#bundles/media-types';
import { readDocuments } from '../../load/releases/artifact.ts';
import { siteReference } from '../../load/releases/references.ts';
import type { Hub } from '../hub.ts';
import type { SiteRow } from '../store/tables.ts';
import { publishArtifact } from './publish-artifact.ts';
import { type SiteDocuments, siteDocuments } from './site-documents.ts';
import { withLayoutLock } from './with-layout-lock.ts';
import { writeReceipts } from './write-receipts.ts';

/**
 * Copies a site's newest statement and receipts from the database to the layout. Repeating it after an interruption is safe.
 * @throws FleetError SITE_MISSING; BUSY while another process writes the layout; ROLLBACK if the layout has a newer statement,
 *   or another one of the same version: the database is an old copy, and sites would reject the versions it issues
 */
export const publishSite = (
  { layout, keys, store }: Hub,
  { name }: Pick<SiteRow, 'name'>,
  options: PublishOptions,
): Promise<'written' | 'unchanged'> =>
  withLayoutLock(layout, { command: 'sites', ...options }, async () => {
    const outcome = await writeSite(layout, await siteDocuments(name, { db: store.db, keys }));
    await writeReceipts(store.db, layout, name);
    return outcome;
  });

/** The same for many sites, under one lock of the layout. */
export const publishSites = (
  { layout, keys, store }: Hub,
  sites: readonly Pick<SiteRow, 'name'>[],
  options: PublishOptions,
): Promise<void> =>
  withLayoutLock(layout, { command: 'sites', ...options }, async () => {
    for (const { name } of sites) {
      await writeSite(layout, await siteDocuments(name, { db: store.db, keys }));
      await writeReceipts(store.db, layout, name);
    }
  });

/** `command` names the holder of the lock for other processes; `waitMs` limits the wait for another writer. */
export type PublishOptions = { readonly now: Date; readonly command?: string; readonly waitMs?: number };

const writeSite = async (
  layout: string,
  { row: site, documents }: SiteDocuments,
): Promise<'written' | 'unchanged'> => {
  const laidOut = await readDocuments(await openOrStartLayout(layout), siteReference(site.name));
  const known = laidOut.find(({ role }) => role === 'site');
  const version = known?.version ?? 0;
  if (version > site.version || (version === site.version && known?.digest !== digestOf(site.statement))) {
    throw new FleetError(
      'ROLLBACK',
      `${layout} has statement ${version} of site ${site.name}, this database issued ${site.version} just now`,
      {
        hint: 'Give the --db that belongs to this --layout, or restore its newest copy; the layout was not changed',
      },
    );
  }
  return await publishArtifact(layout, SITE_ARTIFACT, siteReference(site.name), documents);
};
