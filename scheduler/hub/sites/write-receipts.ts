import { findReference, openOrStartLayout } from '#bundles/formats/layout/layout';
import { RECEIPTS_ARTIFACT, SIGSTORE_BUNDLE } from '#bundles/media-types';
import type { NewDocument } from '../../load/releases/artifact.ts';
import { receiptsReference } from '../../load/releases/references.ts';
import type { Database, ReceiptRow } from '../store/tables.ts';
import { type NewestReport, newestReports } from './newest-reports.ts';
import { updateArtifact } from './update-artifact.ts';
import { withLayoutLock } from './with-layout-lock.ts';

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

/** Writes all receipts of a site and the newest reports of its agents to the layout, under its lock. @throws FleetError BUSY */
export const writeSiteReceipts = (db: Database, layout: string, site: string, now: Date): Promise<void> =>
  withLayoutLock(layout, { command: 'reports import', now }, () => writeReceipts(db, layout, site));

/**
 * The same for a caller that holds the layout's lock. If no receipt is valid any more, for example because keys were replaced,
 * the existing artifact is emptied.
 */
export const writeReceipts = async (db: Database, layout: string, site: string): Promise<void> => {
  const rows = await db
    .selectFrom('receipt')
    .innerJoin('agent', 'agent.id', 'receipt.agent')
    .selectAll('receipt')
    .where('agent.site', '=', site)
    .whereRef('agent.life', '=', 'receipt.life')
    .orderBy('receipt.agent')
    .execute();
  if (rows.length === 0 && !findReference(await openOrStartLayout(layout), receiptsReference(site))) return;
  const receipts = rows.map((row) => receiptDocument(site, row));
  // The exporter uses the newest reports to leave blobs that agents have out of a medium.
  const reports = (await newestReports(db, site)).map((report) => reportDocument(site, report));
  const documents = [...receipts, ...reports];
  await updateArtifact(layout, RECEIPTS_ARTIFACT, receiptsReference(site), documents);
};
