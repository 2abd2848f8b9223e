import type { Digest } from '#bundles/digest';
import { findReference, openOrStartLayout } from '#bundles/formats/layout/layout';
import { RECEIPTS_ARTIFACT, SIGSTORE_BUNDLE } from '#bundles/media-types';
import { signReceipt, verifyReceipt } from '#bundles/trust/reports/receipt';
import { formatTime } from '#bundles/time';
import type { SigningKey } from '#bundles/trust/keys/key';
import type { TrustRoot } from '#bundles/trust/root/root';
import type { NewDocument } from '../../../load/releases/artifact.ts';
import { receiptsReference } from '../../../load/releases/references.ts';
import { type NewestReport, newestReports } from './newest-reports.ts';
import { publishArtifact } from '../../sites/publish-artifact.ts';
import { withLayoutLock } from '../../sites/with-layout-lock.ts';
import type { Store } from '../../store/open-store.ts';
import type { AgentRow, Database, ReceiptRow, Tx } from '../../store/tables.ts';

/**
 * Signs the receipt of an agent up to the head of its unbroken chain: the agent may delete only events that are durably stored
 * and before any gap. The stored receipt is returned unless the head, the acknowledged report or the root's keys changed.
 * @returns undefined while the first event is missing
 * @throws FleetError BUSY, DISK_FULL; UNKNOWN_KEY if the newest root does not accept the receipt key
 */
export const acknowledge = (
  store: Store,
  id: string,
  root: TrustRoot,
  key: SigningKey,
  now: Date,
): Promise<ReceiptRow | undefined> => store.transact((tx) => acknowledgeIn(tx, id, root, key, now));

/** The same within the transaction that stored the report, so that both need one commit. */
export const acknowledgeIn = async (
  tx: Tx,
  id: string,
  root: TrustRoot,
  key: SigningKey,
  now: Date,
): Promise<ReceiptRow | undefined> => {
  const agent = await tx.selectFrom('agent').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
  if (agent.head_seq === 0) return undefined;
  const before = await tx.selectFrom('receipt').selectAll().where('agent', '=', id).executeTakeFirst();
  const report = await findAcknowledged(tx, agent);
  if (before && before.head === agent.head_hash && before.report === report && isGood(before, root))
    return before;
  const receipt = await sign(report, agent, root, key, now);
  const row = {
    agent: id,
    life: agent.life,
    to_seq: agent.head_seq,
    head: agent.head_hash,
    report,
    receipt: receipt.toString('utf8'),
  };
  const { agent: _, ...columns } = row;
  await tx
    .insertInto('receipt')
    .values(row)
    .onConflict((conflict) => conflict.column('agent').doUpdateSet(columns))
    .execute();
  return row;
};

/** Whether the newest root still accepts the receipt; otherwise its agent would not. */
const isGood = ({ receipt, agent }: ReceiptRow, root: TrustRoot): boolean => {
  try {
    verifyReceipt(Buffer.from(receipt), root, agent);
    return true;
  } catch {
    return false;
  }
};

/** A report that contains the head event. Of several, the smallest digest, so that the order of arrival does not matter. */
const findAcknowledged = async (tx: Tx, agent: AgentRow): Promise<Digest> => {
  const { digest } = await tx
    .selectFrom('report')
    .select('digest')
    .where('agent', '=', agent.id)
    .where('life', '=', agent.life)
    .where('apart', '=', 0)
    .where('first_seq', '<=', agent.head_seq)
    .where('last_seq', '>=', agent.head_seq)
    .orderBy('digest')
    .limit(1)
    .executeTakeFirstOrThrow();
  return digest;
};

const sign = async (
  report: Digest,
  agent: AgentRow,
  root: TrustRoot,
  key: SigningKey,
  now: Date,
): Promise<Buffer> => {
  const receipt = await signReceipt(
    report,
    {
      fleet: root.fleet,
      agent: agent.id,
      from: agent.first_seq,
      to: agent.head_seq,
      head: agent.head_hash,
      time: formatTime(now),
    },
    key,
  );
  verifyReceipt(receipt, root, agent.id);
  return receipt;
};

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
export const publishReceipts = (db: Database, layout: string, site: string, now: Date): Promise<void> =>
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
  await publishArtifact(layout, RECEIPTS_ARTIFACT, receiptsReference(site), documents);
};
