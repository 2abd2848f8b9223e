import { checkAudience } from '#bundles/trust/accept/check-audience';
import { type Digest, digestOf } from '#bundles/digest';
import { isFleetError } from '#bundles/errors';
import { PREDICATES } from '#bundles/media-types';
import { parseEnvelope } from '#bundles/formats/statements/envelope';
import type { Audience, ReleasePredicate } from '#bundles/formats/statements/predicates';
import { parseStatement, type Statement } from '#bundles/trust/statements/verify-statement';
import { verifyUnder } from '#bundles/trust/root/verify-under';
import { parseDocument } from '#bundles/json/validate';
import type { Judging } from './judging.ts';

/**
 * The signature files in the evidence whose statement matches. Other files are skipped. Signatures are not verified here.
 */
export const findStatements = (
  evidence: readonly Buffer[],
  wanted: (statement: Statement, payload: Digest) => boolean,
): readonly Buffer[] =>
  evidence.filter((bytes) => {
    try {
      const { payload } = parseEnvelope(bytes, 'evidence');
      return wanted(parseStatement(payload, 'evidence'), digestOf(payload));
    } catch (error) {
      if (isFleetError(error)) return false;
      throw error;
    }
  });

/** The evidence file with this digest. */
export const findBytes = (evidence: readonly Buffer[], digest: Digest): Buffer | undefined =>
  evidence.find((bytes) => digestOf(bytes) === digest);

/**
 * Finds and verifies an earlier release in the evidence by the digest of its payload. It may be signed under any root of the
 * fleet, because a release from before a rotation is still a valid predecessor.
 * @returns undefined if the evidence does not contain it
 * @throws FleetError UNKNOWN_KEY, BAD_SIGNATURE, THRESHOLD, PREDICATE_TYPE, SCHEMA, WRONG_FLEET, WRONG_CHANNEL
 */
export const findRelease = (
  digest: Digest | null,
  audience: Audience,
  { roots, evidence }: Judging,
  what: string,
): ReleasePredicate | undefined => {
  const files = findStatements(evidence, (_, payload) => payload === digest);
  if (files.length === 0) return undefined;
  const { verified } = verifyUnder(files, roots, 'release', PREDICATES.release, what);
  const predicate = parseDocument('release-predicate', verified.predicate, what);
  checkAudience(predicate.audience, audience, what);
  return predicate;
};
