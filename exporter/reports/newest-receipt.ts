import { isFleetError } from '#bundles/errors';
import { readBlob } from '#bundles/formats/layout/verified';
import { agentFolder, type OpenMedium, RECEIPTS_FOLDER } from '#bundles/formats/medium/medium';
import { verifyReceipt } from '#bundles/trust/reports/receipt';
import { MAX_STATEMENT_BYTES } from '#bundles/formats/statements/envelope';
import type { ReceiptPredicate } from '#bundles/formats/statements/predicates';
import type { AgentsOf } from '../source/base/site-agents.ts';

/** The receipt for an agent with the highest event number among the valid ones on the medium. */
export const newestReceipt = async (
  medium: OpenMedium,
  agent: string,
  agentsOf: AgentsOf,
): Promise<ReceiptPredicate | undefined> => {
  let newest: ReceiptPredicate | undefined;
  try {
    const { root } = await agentsOf(agent.split('/')[0] ?? '');
    for await (const bytes of receiptFiles(medium, agent)) {
      const receipt = verifyReceipt(bytes, root, agent);
      if (!newest || receipt.to > newest.to) newest = receipt;
    }
  } catch (error) {
    if (!isFleetError(error) || error.exitCode === 1 || error.exitCode === 6) throw error;
  }
  return newest;
};

/** Receipts are stored as documents and as plain files. */
async function* receiptFiles(medium: OpenMedium, agent: string): AsyncGenerator<Buffer> {
  for (const { role, agent: whose, digest } of medium.medium?.documents ?? [])
    if (role === 'receipt' && whose === agent)
      yield await readBlob(medium.blobs, digest, MAX_STATEMENT_BYTES);
  const file = `${RECEIPTS_FOLDER}/${agentFolder(agent)}.sigstore.json`;
  // MISSING_BLOB without a receipt.
  yield await medium.readFile(file, MAX_STATEMENT_BYTES);
}
