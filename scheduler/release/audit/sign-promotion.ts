import type { Digest } from '#bundles/digest';
import type { PromotionPredicate } from '#bundles/formats/statements/predicates';
import { PREDICATES } from '#bundles/media-types';
import type { SigningKey } from '#bundles/trust/keys/key';
import { signPayload } from '#bundles/trust/statements/sign-payload';
import { encodeStatement } from '#bundles/trust/statements/verify-statement';

/**
 * Signs that a candidate may be built in an environment from now on.
 * @param candidate digest of the candidate of the environment before
 * @param key the release key
 * @returns the bytes of a sigstore bundle
 */
export const signPromotion = (
  candidate: Digest,
  predicate: PromotionPredicate,
  key: SigningKey,
): Promise<Buffer> =>
  signPayload(
    encodeStatement([{ name: 'candidate', digest: candidate }], PREDICATES.promotion, predicate),
    key,
  );
