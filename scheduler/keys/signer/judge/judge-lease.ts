import { FleetError } from '#bundles/errors';
import { formatChannel } from '#bundles/names';
import type { LeasePredicate } from '#bundles/formats/statements/predicates';
import { parseDocument } from '#bundles/json/validate';
import { checkFields } from './check-fields.ts';
import { checkNewer } from './check-newer.ts';
import { checkTimes } from '../check-time.ts';
import { findRelease } from './find-evidence.ts';
import type { Judging, Permit } from './judging.ts';
import type { ReadStatement } from './read-payload.ts';

/**
 * Judges the next lease of a channel, for the newest release that this signer has signed, or the one before it; without any, for one that
 * the evidence contains.
 * @throws FleetError SCHEMA, WRONG_FLEET, NOT_NEWER, SIGNER_REFUSED, FROM_FUTURE, EXPIRED; UNKNOWN_KEY, BAD_SIGNATURE,
 *   THRESHOLD for the evidence
 */
export const judgeLease = (statement: ReadStatement, judging: Judging): Permit => {
  const { root, now, state } = judging;
  const said = parseDocument('lease-predicate', statement.predicate, 'the lease');
  const { audience, version } = said;
  const what = `lease ${version} of ${formatChannel(audience)}`;
  checkFields('lease', said, what);
  if (audience.fleet !== root.fleet)
    throw new FleetError('WRONG_FLEET', `${what} is of fleet ${audience.fleet}, not ${root.fleet}`);
  checkTimes(said, now, what);
  checkRelease(statement, said, judging, what);
  const line = `lease:${formatChannel(audience)}`;
  const signed = { version, payload: statement.digest, previous: null };
  const news = checkNewer(state.signed(line), signed, what);
  return news === 'again'
    ? { what, limited: undefined }
    : { what, limited: 'lease', order: { line, signed } };
};

const checkRelease = (
  { subjects }: ReadStatement,
  { audience }: LeasePredicate,
  judging: Judging,
  what: string,
): void => {
  const [release, more] = subjects;
  if (release?.name !== 'release' || more !== undefined)
    throw new FleetError('SIGNER_REFUSED', `${what} is not about exactly one release`);
  const known = judging.state.signed(`release:${formatChannel(audience)}`);
  const [newest] = known;
  // The newest one may have been signed and never published: then its predecessor is the current one.
  if (newest && (newest.payload === release.digest || newest.previous === release.digest)) return;
  if (newest)
    throw new FleetError(
      'SIGNER_REFUSED',
      `${what} is not for release ${newest.version}, the newest that this signer signed, nor for the one before it`,
      {
        subject: release.digest,
        hint: 'An old release must not look current; in a restored layout, make the next release first: fleet-scheduler releases renew',
      },
    );
  if (findRelease(release.digest, audience, judging, `the release of ${what}`)) return;
  throw new FleetError(
    'SIGNER_REFUSED',
    `${what} is for a release that this signer did not sign and that the request does not contain`,
    { subject: release.digest, hint: 'Send the signature files of the release with the request' },
  );
};
