import type { Digest } from '#bundles/digest';
import type { ApprovalPredicate } from '#bundles/formats/statements/predicates';
import { PREDICATES } from '#bundles/media-types';
import type { SigningKey } from '#bundles/trust/keys/key';
import { signPayload } from '#bundles/trust/statements/sign-payload';
import { encodeStatement } from '#bundles/trust/statements/verify-statement';

/** The statement that one person approves a promotion, or a stage of a rollout: the exact bytes to sign. */
export const approvalStatement = (candidate: Digest, predicate: ApprovalPredicate): Buffer =>
  encodeStatement([{ name: 'candidate', digest: candidate }], PREDICATES.approval, predicate);

/**
 * Signs one person's approval of a promotion, or of a stage of a rollout.
 * @param key the person's own key, one of the root's bundle role
 * @returns the bytes of a sigstore bundle
 */
export const signApproval = (
  candidate: Digest,
  predicate: ApprovalPredicate,
  key: SigningKey,
): Promise<Buffer> => signPayload(approvalStatement(candidate, predicate), key);
