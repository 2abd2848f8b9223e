import type { Digest } from '#bundles/digest';
import { PREDICATES } from '#bundles/media-types';
import { signPayload } from '#bundles/statements/envelope';
import type { LeasePredicate } from '#bundles/statements/predicates';
import { encodeStatement } from '#bundles/statements/verify-statement';
import type { SigningKey } from '#bundles/trust/key';

/**
 * This release, by its payload, is still the current one of its channel.
 * @param releaseFiles its signature files, for a signer that has not signed it itself
 */
export const signLease = (
  release: Digest,
  predicate: LeasePredicate,
  key: SigningKey,
  releaseFiles: readonly Uint8Array[],
): Promise<Buffer> =>
  signPayload(
    encodeStatement([{ name: 'release', digest: release }], PREDICATES.lease, predicate),
    key,
    releaseFiles,
  );
