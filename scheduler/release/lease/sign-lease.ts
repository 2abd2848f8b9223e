import type { Digest } from '#bundles/digest';
import { PREDICATES } from '#bundles/media-types';
import { signPayload } from '#bundles/trust/statements/sign-payload';
import type { LeasePredicate } from '#bundles/formats/statements/predicates';
import { encodeStatement } from '#bundles/trust/statements/verify-statement';
import type { SigningKey } from '#bundles/trust/keys/key';

/**
 * Signs a statement that a release is still the current one of its channel.
 * @param release digest of the release's payload
 * @param releaseFiles signature files of the release: evidence for a remote signer that did not sign it itself
 * @returns the bytes of a sigstore bundle
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
