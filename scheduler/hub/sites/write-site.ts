import { FleetError, toFleetError } from '#bundles/errors';
import type { Layout } from '#bundles/formats/layout/layout';
import { SITE_ARTIFACT } from '#bundles/media-types';
import { type NewBlob, writeBlobs } from '#bundles/formats/layout/write-blobs';
import type { Descriptor } from '#bundles/formats/layout/manifest';
import { prepareArtifact } from '../../load/releases/artifact.ts';
import { siteReference } from '../../load/releases/references.ts';
import { openReleases } from '../../release/write/open-releases.ts';
import type { Hub } from '../hub.ts';
import { parts } from '../store/parts.ts';
import type { SiteRow } from '../store/tables.ts';
import { refuseOlder } from './refuse-older.ts';
import { siteDocumentsOf } from './site-documents.ts';
import { COMMAND_WAIT_MS } from './with-layout-lock.ts';
import { BATCH, isChanged, type Prepared, prepareReceipts } from './write-receipts.ts';

/** `command` names the holder of the lock for other processes; `waitMs` limits the wait for another writer. */
export type WriteSiteOptions = {
  readonly now: Date;
  readonly command?: string;
  readonly waitMs?: number;
  readonly signal?: AbortSignal | undefined;
};

export type LaidOut = {
  /** Sites whose statement, values or secrets the layout had otherwise. */
  readonly written: number;
  /** Sites that were left out, by name. */
  readonly failures: ReadonlyMap<string, FleetError>;
};

/**
 * Copies the newest statements and receipts of sites from the database to the layout, under one lock. The index is written once, after all
 * artifacts: a kill leaves the old state of every site or the new one. Repeating it after an interruption is safe. A site of which the layout
 * has a newer statement, or another one of the same version, is left out with ROLLBACK: the database is an old copy, and sites would reject
 * the versions it issues.
 * @throws FleetError SITE_MISSING; BUSY while another process writes the layout; ABORTED; DISK_FULL, IO
 */
export const layOutSites = async (
  { layout: directory, keys, store }: Hub,
  sites: readonly Pick<SiteRow, 'name'>[],
  { signal, ...options }: WriteSiteOptions,
): Promise<LaidOut> => {
  if (sites.length === 0) return { written: 0, failures: new Map() };
  using releases = await openReleases(directory, { command: 'sites', waitMs: COMMAND_WAIT_MS, ...options });
  const layout = await releases.open();
  const references = new Map<string, Descriptor>();
  const failures = new Map<string, FleetError>();
  let written = 0;
  for (const part of parts(sites, BATCH)) {
    if (signal?.aborted)
      throw new FleetError('ABORTED', 'it was stopped before the index of the layout was written');
    const names = part.map(({ name }) => name);
    const receipts = await prepareReceipts(store.db, layout, names);
    const blobs: NewBlob[] = [];
    for (const { row, documents } of await siteDocumentsOf(names, { db: store.db, keys })) {
      const failure = await refusalOf(layout, row);
      if (failure) {
        failures.set(row.name, failure);
        continue;
      }
      const site: Prepared = {
        reference: siteReference(row.name),
        ...prepareArtifact(SITE_ARTIFACT, documents),
      };
      if (isChanged(layout, site)) written += 1;
      for (const one of [site, receipts.get(row.name)]) {
        if (!one) continue;
        if (isChanged(layout, one)) references.set(one.reference, one.descriptor);
        // Also those of an artifact that the index has: the disk may have lost one since.
        blobs.push(...one.blobs);
      }
    }
    await writeBlobs(layout.blobs, blobs);
  }
  if (references.size > 0) await releases.point(references);
  return { written, failures };
};

/** @throws FleetError what concerns the whole layout or disk */
const refusalOf = async (layout: Layout, row: SiteRow): Promise<FleetError | undefined> => {
  try {
    await refuseOlder(layout, row);
    return undefined;
  } catch (error) {
    const refusal = toFleetError(error, `laying out site ${row.name}`);
    if (refusal.exitCode === 1) throw refusal;
    return refusal;
  }
};

/** layOutSites, in which a site that was left out is an error after the others are written. @throws FleetError ROLLBACK; as layOutSites */
export const writeSites = async (
  hub: Hub,
  sites: readonly Pick<SiteRow, 'name'>[],
  options: WriteSiteOptions,
): Promise<number> => {
  const { written, failures } = await layOutSites(hub, sites, options);
  for (const failure of failures.values()) throw failure;
  return written;
};

/** The same for one site. */
export const writeSite = async (
  hub: Hub,
  { name }: Pick<SiteRow, 'name'>,
  options: WriteSiteOptions,
): Promise<'written' | 'unchanged'> =>
  (await writeSites(hub, [{ name }], options)) > 0 ? 'written' : 'unchanged';
