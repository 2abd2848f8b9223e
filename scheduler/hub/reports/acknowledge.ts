import type { Digest } from '#bundles/digest';
import { findReference, openOrStartLayout } from '#bundles/layout/layout';
import { RECEIPTS_ARTIFACT, SIGSTORE_BUNDLE } from '#bundles/media-types';
import { signReceipt, verifyReceipt } from '#bundles/report/receipt';
import { formatTime } from '#bundles/time';
import type { SigningKey } from '#bundles/trust/key';
import type { TrustRoot } from '#bundles/trust/root';
import type { NewDocument } from '../../publish/artifact.ts';
import { receiptsReference } from '../../publish/references.ts';
import { type NewestReport, newestReports } from './newest-reports.ts';
import { publishArtifact } from '../sites/publish-artifact.ts';
import { withLayoutLock } from '../sites/with-layout-lock.ts';
import type { Store } from '../store/open-store.ts';
import type { AgentRow, Database, ReceiptRow, Tx } from '../store/tables.ts';

/**
 * The receipt of one agent, up to the head of its unbroken chain: only what is stored for good, and nothing behind a
 * gap, may be forgotten by the agent. Signed again only when the head has moved,
 * or a report came whose name goes before.
 * @returns undefined while there is no unbroken beginning
 */
export const acknowledge = (
  store: Store,
  id: string,
  root: TrustRoot,
  key: SigningKey,
  now: Date,
): Promise<ReceiptRow | undefined> => store.transact((tx) => acknowledgeIn(tx, id, root, key, now));

/** The same in the transaction that took the report: one write to the disk for both. */
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

/** A receipt whose key has left the root since is worth nothing to its agent. */
const isGood = ({ receipt, agent }: ReceiptRow, root: TrustRoot): boolean => {
  try {
    verifyReceipt(Buffer.from(receipt), root, agent);
    return true;
  } catch {
    return false;
  }
};

/** Of several reports that hold the last event any will do; the order they came in must not show. */
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

/** All receipts of a site, and the newest reports of its agents, as its receipts artifact. */
export const publishReceipts = (db: Database, layout: string, site: string, now: Date): Promise<void> =>
  withLayoutLock(layout, { command: 'reports import', now }, () => writeReceipts(db, layout, site));

/**
 * The same for who holds the layout's lock. Where no receipt counts any more, as a key was replaced, what lies there is
 * emptied: the machine with the new key never told what it would acknowledge.
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
  // What each agent said of itself last: with it the exporter knows what a stick may leave out.
  const reports = (await newestReports(db, site)).map((report) => reportDocument(site, report));
  const documents = [...receipts, ...reports];
  await publishArtifact(layout, RECEIPTS_ARTIFACT, receiptsReference(site), documents);
};
