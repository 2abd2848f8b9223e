import { checkAudience } from '#bundles/accept/check-audience';
import { type Digest, digestOf } from '#bundles/digest';
import { isFleetError } from '#bundles/errors';
import { PREDICATES } from '#bundles/media-types';
import { parseEnvelope } from '#bundles/statements/envelope';
import type { Audience, ReleasePredicate } from '#bundles/statements/predicates';
import { parseStatement, type Statement } from '#bundles/statements/verify-statement';
import { verifyUnder } from '#bundles/trust/verify-under';
import { parseDocument } from '#bundles/validate';
import type { Judging } from './judging.ts';

/**
 * The signature files among the evidence whose statement is one that is looked for. What is no signature file is something
 * else, and whether what they say holds is for verifyStatement to find.
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

/** The very bytes of this digest. */
export const findBytes = (evidence: readonly Buffer[], digest: Digest): Buffer | undefined =>
  evidence.find((bytes) => digestOf(bytes) === digest);

/**
 * A release that somebody signed before, by its payload, as the evidence shows it. The keys of any of the fleet's roots will do:
 * what was signed before a rotation is still what the next one follows.
 * @returns undefined where it is not shown @throws FleetError those of verifyStatement, WRONG_*
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
  const predicate = parseDocument<ReleasePredicate>('release-predicate', verified.predicate, what);
  checkAudience(predicate.audience, audience, what);
  return predicate;
};
