import {
  findReference,
  openOrStartLayout,
  withReference,
  writeLayoutIndex,
} from '#bundles/formats/layout/layout';
import { SITE_ARTIFACT } from '#bundles/media-types';
import { writeArtifact } from '../../load/releases/artifact.ts';
import { siteReference } from '../../load/releases/references.ts';
import type { Hub } from '../hub.ts';
import type { SiteRow } from '../store/tables.ts';
import { refuseOlder } from './refuse-older.ts';
import { updateArtifact } from './update-artifact.ts';
import { type SiteDocuments, siteDocuments } from './site-documents.ts';
import { withLayoutLock } from './with-layout-lock.ts';
import { writeReceipts } from './write-receipts.ts';

/**
 * Copies a site's newest statement and receipts from the database to the layout. Repeating it after an interruption is safe.
 * @throws FleetError SITE_MISSING; BUSY while another process writes the layout; ROLLBACK if the layout has a newer statement,
 *   or another one of the same version: the database is an old copy, and sites would reject the versions it issues
 */
export const writeSite = (
  { layout, keys, store }: Hub,
  { name }: Pick<SiteRow, 'name'>,
  options: WriteSiteOptions,
): Promise<'written' | 'unchanged'> =>
  withLayoutLock(layout, { command: 'sites', ...options }, async () => {
    const outcome = await writeStatement(layout, await siteDocuments(name, { db: store.db, keys }));
    await writeReceipts(store.db, layout, name);
    return outcome;
  });

/**
 * The same for many sites, without receipts, which values do not change: under one lock of the layout, whose index is written after all
 * artifacts. @returns how many sites the layout had otherwise
 */
export const writeSites = (
  { layout: directory, keys, store }: Hub,
  sites: readonly Pick<SiteRow, 'name'>[],
  options: WriteSiteOptions,
): Promise<number> =>
  withLayoutLock(directory, { command: 'sites', ...options }, async () => {
    const layout = await openOrStartLayout(directory);
    let { manifests } = layout;
    let written = 0;
    for (const { name } of sites) {
      const { row, documents } = await siteDocuments(name, { db: store.db, keys });
      await refuseOlder(layout, row);
      const descriptor = await writeArtifact(layout, SITE_ARTIFACT, documents);
      if (findReference(layout, siteReference(name))?.digest === descriptor.digest) continue;
      manifests = withReference(manifests, siteReference(name), descriptor);
      written += 1;
    }
    if (written > 0) await writeLayoutIndex(layout, manifests);
    return written;
  });

/** `command` names the holder of the lock for other processes; `waitMs` limits the wait for another writer. */
export type WriteSiteOptions = { readonly now: Date; readonly command?: string; readonly waitMs?: number };

const writeStatement = async (
  layout: string,
  { row: site, documents }: SiteDocuments,
): Promise<'written' | 'unchanged'> => {
  await refuseOlder(await openOrStartLayout(layout), site);
  return await updateArtifact(layout, SITE_ARTIFACT, siteReference(site.name), documents);
};
