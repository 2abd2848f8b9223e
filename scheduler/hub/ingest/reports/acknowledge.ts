import type { Digest } from '#bundles/digest';
import { signReceipt, verifyReceipt } from '#bundles/trust/reports/receipt';
import { formatTime } from '#bundles/time';
import type { SigningKey } from '#bundles/trust/keys/key';
import type { TrustRoot } from '#bundles/trust/root/root';
import type { Store } from '../../store/open-store.ts';
import { overwrite } from '../../store/overwrite.ts';
import type { ReceiptRow, Tx } from '../../store/tables.ts';

/** The newest root, which agents verify a receipt with, and the key that signs it. */
export type ReceiptSigner = { readonly root: TrustRoot; readonly key: SigningKey; readonly now: Date };

/**
 * Signs the receipt of an agent up to the head of its unbroken chain: the agent may delete only events that are durably stored
 * and before any gap. The stored receipt is returned unless the head, the acknowledged report or the root's keys changed.
 * @returns undefined while the first event is missing
 * @throws FleetError BUSY, DISK_FULL; UNKNOWN_KEY if the newest root does not accept the receipt key
 */
export const acknowledge = async (
  store: Store,
  id: string,
  signer: ReceiptSigner,
): Promise<ReceiptRow | undefined> =>
  (await store.transact((tx) => acknowledgeAll(tx, [id], signer))).get(id);

/** The same for several agents, within the transaction that stored their reports, so that both need one commit. */
export const acknowledgeAll = async (
  tx: Tx,
  ids: readonly string[],
  signer: ReceiptSigner,
): Promise<ReadonlyMap<string, ReceiptRow>> => {
  const receipts = new Map<string, ReceiptRow>();
  const fresh: ReceiptRow[] = [];
  for (const { head, before } of await readHeads(tx, ids)) {
    const isUnchanged = before && before.head === head.hash && before.report === head.report;
    const receipt = isUnchanged && isGood(before, signer.root) ? before : await sign(head, signer);
    receipts.set(head.agent, receipt);
    if (receipt === before) continue;
    // One of them shows that the newest root accepts the key. To verify each takes longer than to sign it.
    if (fresh.length === 0) verifyReceipt(Buffer.from(receipt.receipt), signer.root, head.agent);
    fresh.push(receipt);
  }
  if (fresh.length > 0)
    await tx
      .insertInto('receipt')
      .values(fresh)
      .onConflict((conflict) => conflict.column('agent').doUpdateSet(overwrite(COLUMNS)))
      .execute();
  return receipts;
};

const COLUMNS = [
  'life',
  'to_seq',
  'head',
  'report',
  'receipt',
] as const satisfies readonly (keyof ReceiptRow)[];

/** The head of an agent's chain, and a report that contains it. */
type AcknowledgedHead = {
  readonly agent: string;
  readonly life: number;
  readonly from: number;
  readonly to: number;
  readonly hash: Digest;
  /** Of several, the smallest digest, so that the order of arrival does not matter. */
  readonly report: Digest;
};

type Heard = { readonly head: AcknowledgedHead; readonly before: ReceiptRow | undefined };

/** Agents whose first event is stored. */
const readHeads = async (tx: Tx, ids: readonly string[]): Promise<readonly Heard[]> => {
  const rows = await tx
    .selectFrom('agent')
    .leftJoin('receipt', 'receipt.agent', 'agent.id')
    .select(['agent.id', 'agent.life', 'agent.first_seq', 'agent.head_seq', 'agent.head_hash'])
    .select([
      'receipt.life as before_life',
      'receipt.to_seq as before_to',
      'receipt.head as before_head',
      'receipt.report as before_report',
      'receipt.receipt as before_receipt',
    ])
    .select(({ selectFrom }) =>
      selectFrom('report')
        .select(({ fn }) => fn.min('report.digest').as('digest'))
        .whereRef('report.agent', '=', 'agent.id')
        .whereRef('report.life', '=', 'agent.life')
        .where('report.apart', '=', 0)
        .whereRef('report.first_seq', '<=', 'agent.head_seq')
        .whereRef('report.last_seq', '>=', 'agent.head_seq')
        .as('report'),
    )
    .where('agent.id', 'in', ids)
    .where('agent.head_seq', '>', 0)
    .execute();
  return rows.map((row) => {
    const { id: agent, life, first_seq: from, head_seq: to, head_hash: hash, report } = row;
    if (report === null) throw new TypeError(`no report contains event ${to} of ${agent}`);
    const { before_life, before_to, before_head, before_report, before_receipt } = row;
    const known = before_life !== null && before_to !== null && before_head !== null;
    const before =
      known && before_report !== null && before_receipt !== null
        ? {
            agent,
            life: before_life,
            to_seq: before_to,
            head: before_head,
            report: before_report,
            receipt: before_receipt,
          }
        : undefined;
    return { head: { agent, life, from, to, hash, report }, before };
  });
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

const sign = async (
  { agent, life, from, to, hash, report }: AcknowledgedHead,
  { root, key, now }: ReceiptSigner,
): Promise<ReceiptRow> => {
  const statement = { fleet: root.fleet, agent, from, to, head: hash, time: formatTime(now) };
  const receipt = await signReceipt(report, statement, key);
  return { agent, life, to_seq: to, head: hash, report, receipt: receipt.toString('utf8') };
};
