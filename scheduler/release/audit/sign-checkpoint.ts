import type { Digest } from '#bundles/digest';
import type { AuditPredicate } from '#bundles/formats/statements/predicates';
import { PREDICATES } from '#bundles/media-types';
import { formatTime } from '#bundles/time';
import type { SigningKey } from '#bundles/trust/keys/key';
import { signPayload } from '#bundles/trust/statements/sign-payload';
import { encodeStatement } from '#bundles/trust/statements/verify-statement';

/**
 * Signs the state of the audit log after one more entry (docs/bundle-format.md section 18).
 * @param head digest of the newest line
 * @param count entries of the log, the newest one included
 * @returns the bytes of a sigstore bundle
 */
export const signCheckpoint = (head: Digest, count: number, key: SigningKey, now: Date): Promise<Buffer> => {
  const predicate: AuditPredicate = { from: count, to: count, count, time: formatTime(now) };
  return signPayload(encodeStatement([{ name: 'log', digest: head }], PREDICATES.audit, predicate), key);
};
