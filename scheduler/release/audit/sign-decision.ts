import { type Digest, digestOf } from '#bundles/digest';
import type { DecisionPredicate } from '#bundles/formats/statements/predicates';
import { PREDICATES } from '#bundles/media-types';
import type { SigningKey } from '#bundles/trust/keys/key';
import { signPayload } from '#bundles/trust/statements/sign-payload';
import { encodeStatement } from '#bundles/trust/statements/verify-statement';

/**
 * Signs a decision about a candidate or an environment.
 * @param candidate undefined: the decision is about the environment
 * @param key the audit key
 * @returns the bytes of a sigstore bundle
 */
export const signDecision = (
  candidate: Digest | undefined,
  predicate: DecisionPredicate,
  key: SigningKey,
): Promise<Buffer> => {
  const subject =
    candidate === undefined
      ? { name: 'environment', digest: digestOf(predicate.environment) }
      : { name: 'candidate', digest: candidate };
  return signPayload(encodeStatement([subject], PREDICATES.decision, predicate), key);
};
