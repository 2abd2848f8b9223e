import type { Digest } from '../../digest.ts';
import { FleetError } from '../../errors.ts';
import { PREDICATES } from '../../media-types.ts';
import { signPayload } from '../statements/sign-payload.ts';
import type { ReceiptPredicate } from '../../formats/statements/predicates.ts';
import { encodeStatement, verifyStatement } from '../statements/verify-statement.ts';
import type { SigningKey } from '../keys/key.ts';
import type { TrustRoot } from '../root/root.ts';
import { parseAs } from '../../json/parse-as.ts';
import { RECEIPT_PREDICATE } from '../../json/schema/validators.js';

/** Signs the receipt for an agent's events up to `to`; `report` is the digest of the acknowledged blob. */
export const signReceipt = (report: Digest, predicate: ReceiptPredicate, key: SigningKey): Promise<Buffer> =>
  signPayload(encodeStatement([{ name: 'report', digest: report }], PREDICATES.receipt, predicate), key);

/** @throws FleetError RECEIPT_INVALID for a receipt of another agent or fleet; as verifyStatement */
export const verifyReceipt = (bytes: Uint8Array, root: TrustRoot, agent: string): ReceiptPredicate => {
  const what = `a receipt for ${agent}`;
  const verified = verifyStatement([bytes], { keys: root.receipt, threshold: 1 }, PREDICATES.receipt, what);
  const predicate = parseAs(RECEIPT_PREDICATE, verified.predicate, what);
  if (predicate.agent === agent && predicate.fleet === root.fleet) return predicate;
  throw new FleetError('RECEIPT_INVALID', `${what} is really for ${predicate.fleet}/${predicate.agent}`);
};
