import { defined } from '#bundles/defined';
import { checkAudience } from '#bundles/trust/accept/check-audience';
import { type Digest, shortDigest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { PREDICATES } from '#bundles/media-types';
import { formatChannel } from '#bundles/names';
import type { Audience, BundlePredicate, ReleasePredicate } from '#bundles/formats/statements/predicates';
import { type Subject, verifyStatement } from '#bundles/trust/statements/verify-statement';
import { parseStrictJson } from '#bundles/json/strict-json';
import { parseDocument } from '#bundles/json/validate';
import type { SignedVersion } from '../state/open-state.ts';
import { checkFields } from './check-fields.ts';
import { checkLineage, type NamedBundle, triedIn } from './check-lineage.ts';
import { checkNewer } from './check-newer.ts';
import { checkTimes } from '../check-time.ts';
import { findBytes, findRelease, findStatements } from './find-evidence.ts';
import type { Judging, Permit } from './judging.ts';
import type { ReadStatement } from './read-payload.ts';

/** The same limit as for agents. */
const MAX_REVOCATIONS_BYTES = 4 << 20;

/**
 * Judges the next release of a channel: newer than all signed ones, with a known predecessor, and with enough bundle signers for
 * each of its bundles.
 * @throws FleetError NOT_NEWER, NOT_PROMOTED, APPROVAL_MISSING, REVOKED, SIGNER_REFUSED, SCHEMA, WRONG_FLEET, WRONG_CHANNEL, WRONG_TYPE,
 *   ROOT_BEHIND, FROM_FUTURE, EXPIRED; UNKNOWN_KEY, BAD_SIGNATURE for the evidence
 */
export const judgeRelease = (statement: ReadStatement, judging: Judging): Permit => {
  const { root, now, state } = judging;
  const said = parseDocument('release-predicate', statement.predicate, 'the release');
  const { audience, version, previous } = said;
  const channel = formatChannel(audience);
  const what = `release ${version} of ${channel}`;
  checkFields('release', said, what);
  if (audience.fleet !== root.fleet)
    throw new FleetError('WRONG_FLEET', `${what} is of fleet ${audience.fleet}, not ${root.fleet}`);
  if (said.rootVersion > root.version) {
    throw new FleetError(
      'ROOT_BEHIND',
      `${what} needs trust root ${said.rootVersion}, the signer has ${root.version}`,
      {
        hint: "Put the new root into the signer's directory and start it again",
      },
    );
  }
  checkTimes(said, now, what);
  const line = `release:${channel}`;
  const known = state.signed(line);
  const signed: SignedVersion = { version, payload: statement.digest, previous };
  const news = checkNewer(known, signed, what, predecessorVersion(known, said, judging, what));
  const { revoked: digests, bundles } = checkSubjects(statement.subjects, audience, judging, what);
  const released = checkLineage({ said, what, known }, bundles, judging);
  return {
    what,
    limited: news === 'again' ? undefined : 'release',
    ...defined({ order: news === 'newer' ? { line, signed } : undefined }),
    ...(released && {
      released,
      named: bundles.map((bundle) => ({
        channel,
        version,
        bundle: bundle.subject.digest,
        shared: triedIn(bundle) ?? null,
      })),
    }),
    revoked: { channel, digests },
  };
};

/** @returns the version of the predecessor; 0 for the first release; undefined if this signer signed the predecessor */
const predecessorVersion = (
  known: readonly SignedVersion[],
  { audience, previous }: ReleasePredicate,
  judging: Judging,
  what: string,
): number | undefined => {
  // A release that was signed here and never published is followed by one with the same predecessor.
  if (known.some((one) => one.payload === previous || one.previous === previous)) return undefined;
  if (previous === null && known.length === 0) return 0;
  const before = findRelease(previous, audience, judging, `the release before ${what}`);
  if (before) return before.version;
  throw new FleetError(
    'SIGNER_REFUSED',
    `${what} follows a release that this signer did not sign and that the request does not contain`,
    {
      subject: previous ?? undefined,
      hint: 'If the layout is an old copy, restore the newest one',
    },
  );
};

/** Checks the bundles and the revocation list. @returns the digests that the list revokes, and what is said of the bundles */
const checkSubjects = (
  subjects: readonly Subject[],
  audience: Audience,
  judging: Judging,
  what: string,
): { readonly revoked: readonly Digest[]; readonly bundles: readonly NamedBundle[] } => {
  const list = subjects.find(({ name }) => name === 'revocations');
  const bytes = list && findBytes(judging.evidence, list.digest);
  if (!bytes) {
    throw new FleetError(
      'SIGNER_REFUSED',
      `${what} ${list ? 'came without its' : 'names no'} list of revocations`,
    );
  }
  const named = 'the list of revocations';
  const json = parseStrictJson(bytes, { maxBytes: MAX_REVOCATIONS_BYTES }, named);
  const revocations = parseDocument('revocations', json, named);
  checkAudience(revocations, audience, named);
  const digests = revocations.revoked.map(({ digest }) => digest);
  const revoked = new Set([...digests, ...judging.state.revoked(formatChannel(audience))]);
  const bundles = subjects.filter(({ name }) => name !== 'revocations');
  if (bundles.length === 0) throw new FleetError('SCHEMA', `${what} names no bundle`);
  return {
    revoked: digests,
    bundles: bundles.map((subject) => ({
      subject,
      said: checkBundle(subject, audience, revoked, judging, what),
    })),
  };
};

const checkBundle = (
  { name, digest }: Subject,
  audience: Audience,
  revoked: ReadonlySet<Digest>,
  { root, evidence }: Judging,
  release: string,
): BundlePredicate => {
  const kind = /^bundle\/(kubernetes|host)$/.exec(name)?.[1];
  if (kind === undefined)
    throw new FleetError(
      'SIGNER_REFUSED',
      `${release} is about ${JSON.stringify(name.slice(0, 80))}, which this signer does not know`,
    );
  if (revoked.has(digest))
    throw new FleetError('REVOKED', `bundle ${shortDigest(digest)} was revoked`, { subject: digest });
  const what = `the statement of bundle ${shortDigest(digest)}`;
  const files = findStatements(
    evidence,
    ({ predicateType, subjects }) =>
      predicateType === PREDICATES.bundle && subjects.some((subject) => subject.digest === digest),
  );
  const { keys, threshold } = root.roles.bundle;
  if (files.length === 0) throw unapproved(what, 0, threshold, digest);
  // Distinct keys are counted: a second file by the same key does not count.
  const { signers, predicate } = verifyStatement(files, { keys, threshold: 1 }, PREDICATES.bundle, what);
  if (signers.length < threshold) throw unapproved(what, signers.length, threshold, digest);
  const said = parseDocument('bundle-predicate', predicate, what);
  checkAudience(said, audience, what);
  if (said.kind !== kind)
    throw new FleetError('WRONG_TYPE', `${what} says ${said.kind}, ${release} says ${kind}`);
  return said;
};

const unapproved = (what: string, signed: number, threshold: number, subject: Digest): FleetError =>
  new FleetError(
    'APPROVAL_MISSING',
    `${what} is signed by ${signed} of the ${threshold} bundle signers needed`,
    {
      subject,
      hint: 'An approver signs it with: fleet-scheduler approve',
    },
  );
