import { type Digest, digestFromHex, digestOf } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { parseDocument } from '#bundles/json/validate';
import { PREDICATES } from '#bundles/media-types';
import { verifyUnder } from '#bundles/trust/root/verify-under';
import {
  encodeSummary,
  inputsOf,
  isPassed,
  type PassedBundle,
} from '#bundles/trust/statements/verification-summary';
import type { VerifiedStatement } from '#bundles/trust/statements/verify-statement';
import { findStatements } from './find-evidence.ts';
import type { Judging, Permit } from './judging.ts';
import type { ReadStatement } from './read-payload.ts';

const WHAT = 'the verification summary';

/**
 * Judges a verification summary: the promotion and the bundle statement that it names are in the request, verified, and give exactly
 * these bytes. It permits nothing that the promotion does not.
 * @throws FleetError SIGNER_REFUSED; UNKNOWN_KEY, BAD_SIGNATURE, THRESHOLD, SCHEMA for the two statements
 */
export const judgeSummary = (statement: ReadStatement, judging: Judging): Permit => {
  const [first, second] = inputsOf(statement.predicate);
  // The hub signs the promotion right before its summaries, so a release key of an older root is refused: a rotation removed it.
  const promotion = readInput(first, 'promotion', 'release', { ...judging, roots: [judging.root] });
  const bundle = readInput(second, 'bundle', 'bundle', judging);
  const candidate = promotion.subjects.find(({ name }) => name === 'candidate')?.digest;
  const [subject] = bundle.subjects;
  if (!candidate || !subject) throw refused('does not follow from the statements that it names');
  const passed: PassedBundle = {
    promotion: {
      payload: promotion.digest,
      candidate,
      said: parseDocument('promotion-predicate', promotion.predicate, WHAT),
    },
    bundle: {
      payload: bundle.digest,
      digest: subject.digest,
      said: parseDocument('bundle-predicate', bundle.predicate, WHAT),
    },
  };
  // The request was read as this program writes it, so the same digest is the same bytes.
  if (!isPassed(passed) || digestOf(encodeSummary(passed)) !== statement.digest)
    throw refused('does not follow from the statements that it names');
  return { what: `the summary of promotion ${passed.promotion.said.number}`, limited: undefined };
};

const readInput = (
  input: unknown,
  kind: 'bundle' | 'promotion',
  role: 'bundle' | 'release',
  { roots, evidence }: Judging,
): VerifiedStatement => {
  const named: Digest = digestFromHex(input, WHAT);
  const files = findStatements(evidence, (_, payload) => payload === named);
  if (files.length === 0) throw refused(`came without its ${kind} statement`);
  return verifyUnder(files, roots, role, PREDICATES[kind], `the ${kind} of ${WHAT}`).verified;
};

const refused = (why: string): FleetError => new FleetError('SIGNER_REFUSED', `${WHAT} ${why}`);
