import {
  findReference,
  openOrStartLayout,
  withReferences,
  writeLayoutIndex,
} from '#bundles/formats/layout/layout';
import { SITE_ARTIFACT } from '#bundles/media-types';
import { type NewBlob, writeBlobs } from '#bundles/formats/layout/write-blobs';
import type { Descriptor } from '#bundles/formats/layout/manifest';
import { prepareArtifact } from '../../load/releases/artifact.ts';
import { siteReference } from '../../load/releases/references.ts';
import type { Hub } from '../hub.ts';
import { parts } from '../store/parts.ts';
import type { SiteRow } from '../store/tables.ts';
import { refuseOlder } from './refuse-older.ts';
import { updateArtifact } from './update-artifact.ts';
import { type SiteDocuments, siteDocuments, siteDocumentsOf } from './site-documents.ts';
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
    const references = new Map<string, Descriptor>();
    for (const part of parts(sites, BATCH)) {
      const names = part.map(({ name }) => name);
      const blobs: NewBlob[] = [];
      for (const { row, documents } of await siteDocumentsOf(names, { db: store.db, keys })) {
        await refuseOlder(layout, row);
        const artifact = prepareArtifact(SITE_ARTIFACT, documents);
        blobs.push(...artifact.blobs);
        const reference = siteReference(row.name);
        if (findReference(layout, reference)?.digest !== artifact.descriptor.digest)
          references.set(reference, artifact.descriptor);
      }
      await writeBlobs(layout.blobs, blobs);
    }
    if (references.size > 0) await writeLayoutIndex(layout, withReferences(layout.manifests, references));
    return references.size;
  });

/** Sites whose documents are written together, so that they share the waits for the disk. */
const BATCH = 100;

/** `command` names the holder of the lock for other processes; `waitMs` limits the wait for another writer. */
export type WriteSiteOptions = { readonly now: Date; readonly command?: string; readonly waitMs?: number };

const writeStatement = async (
  layout: string,
  { row: site, documents }: SiteDocuments,
): Promise<'written' | 'unchanged'> => {
  await refuseOlder(await openOrStartLayout(layout), site);
  return await updateArtifact(layout, SITE_ARTIFACT, siteReference(site.name), documents);
};
