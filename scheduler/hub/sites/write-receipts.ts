import { findReference, type Layout } from '#bundles/formats/layout/layout';
import { RECEIPTS_ARTIFACT, SIGSTORE_BUNDLE } from '#bundles/media-types';
import type { Descriptor } from '#bundles/formats/layout/manifest';
import { writeBlobs } from '#bundles/formats/layout/write-blobs';
import { type NewDocument, prepareArtifact } from '../../load/releases/artifact.ts';
import { receiptsReference } from '../../load/releases/references.ts';
import { openReleases } from '../../release/write/open-releases.ts';
import { parts } from '../store/parts.ts';
import type { Database, ReceiptRow } from '../store/tables.ts';
import { type NewestReport, newestReports } from './newest-reports.ts';
import { COMMAND_WAIT_MS } from './with-layout-lock.ts';

export const receiptDocument = (site: string, { agent, receipt }: ReceiptRow): NewDocument => ({
  role: 'receipt',
  mediaType: SIGSTORE_BUNDLE,
  site,
  agent,
  bytes: Buffer.from(receipt),
});

const reportDocument = (site: string, { agent, statement }: NewestReport): NewDocument => ({
  role: 'report',
  mediaType: SIGSTORE_BUNDLE,
  site,
  agent,
  bytes: Buffer.from(statement),
});

/** An artifact for a layout under its reference, and the blobs that it needs. */
export type Prepared = ReturnType<typeof prepareArtifact> & { readonly reference: string };

/** Whether the index has another artifact under this reference, or none. */
export const isChanged = (layout: Layout, { reference, descriptor }: Prepared): boolean =>
  findReference(layout, reference)?.digest !== descriptor.digest;

/** Writes all receipts of sites and the newest reports of their agents to the layout, whose index is written once. @throws FleetError BUSY */
export const writeReceipts = async (
  db: Database,
  directory: string,
  sites: readonly string[],
  now: Date,
): Promise<void> => {
  const options = { command: 'reports import', now, waitMs: COMMAND_WAIT_MS };
  using releases = await openReleases(directory, options);
  const layout = await releases.open();
  const references = new Map<string, Descriptor>();
  for (const part of parts(sites, BATCH)) {
    const prepared = [...(await prepareReceipts(db, layout, part)).values()];
    await writeBlobs(
      layout.blobs,
      prepared.flatMap(({ blobs }) => blobs),
    );
    for (const one of prepared) if (isChanged(layout, one)) references.set(one.reference, one.descriptor);
  }
  if (references.size > 0) await releases.point(references);
};

/** Sites whose documents are written together, so that they share the waits for the disk. */
export const BATCH = 100;

/**
 * The receipts of sites and the newest reports of their agents, by site: nothing for a site that never had any. If no receipt is valid any more,
 * for example because keys were replaced, the existing artifact is emptied.
 * @param sites at most BATCH
 */
export const prepareReceipts = async (
  db: Database,
  layout: Layout,
  sites: readonly string[],
): Promise<ReadonlyMap<string, Prepared>> => {
  const rows = await db
    .selectFrom('receipt')
    .innerJoin('agent', 'agent.id', 'receipt.agent')
    .selectAll('receipt')
    .select('agent.site')
    .where('agent.site', 'in', sites)
    .whereRef('agent.life', '=', 'receipt.life')
    .orderBy('receipt.agent')
    .execute();
  const bySite = Map.groupBy(rows, ({ site }) => site);
  const prepared = new Map<string, Prepared>();
  for (const site of sites) {
    const own = bySite.get(site) ?? [];
    const reference = receiptsReference(site);
    if (own.length === 0 && !findReference(layout, reference)) continue;
    const receipts = own.map((row) => receiptDocument(site, row));
    // The exporter uses the newest reports to leave blobs that agents have out of a medium.
    const reports = (await newestReports(db, site)).map((report) => reportDocument(site, report));
    prepared.set(site, { reference, ...prepareArtifact(RECEIPTS_ARTIFACT, [...receipts, ...reports]) });
  }
  return prepared;
};
