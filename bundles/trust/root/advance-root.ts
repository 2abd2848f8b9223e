import { compareBytes, shortDigest } from '../../digest.ts';
import { FleetError } from '../../errors.ts';
import type { TrustRoot } from './read-root.ts';
import { isSignedBy, readRootDocument, signedBytes } from './root-document.ts';

/** Upper bound on rotations from one source. */
export const MAX_ROTATIONS = 64;

/**
 * Walks from the trusted root to the newest candidate, one version at a time (TUF 1.0.31 section 5.3). Candidates may
 * come in any order; the trusted root and older ones are skipped. The caller checks the expiry of the result only: a site that
 * was disconnected for years passes expired roots on the way.
 * @throws FleetError ROOT_FLEET, ROOT_VERSION, EQUIVOCATION, ROOT_THRESHOLD_OLD, ROOT_THRESHOLD_NEW, TOO_MANY
 */
export const advanceRoot = (trusted: TrustRoot, candidates: readonly TrustRoot[]): TrustRoot => {
  for (const candidate of candidates) checkFleet(trusted, candidate);
  const ahead = candidates
    .filter(({ version }) => version >= trusted.version)
    .toSorted((a, b) => a.version - b.version || compareBytes(a.digest, b.digest));
  // The trusted root itself may be among them.
  if (ahead.length > MAX_ROTATIONS + 1) {
    throw new FleetError('TOO_MANY', `there are more than ${MAX_ROTATIONS} new roots at once`);
  }
  return ahead.reduce(step, trusted);
};

const checkFleet = (trusted: TrustRoot, candidate: TrustRoot): void => {
  if (candidate.fleet === trusted.fleet) return;
  throw new FleetError('ROOT_FLEET', `this root is of the fleet ${candidate.fleet}, not ${trusted.fleet}`, {
    subject: shortDigest(candidate.digest),
  });
};

const step = (current: TrustRoot, next: TrustRoot): TrustRoot => {
  if (next.digest === current.digest) return current;
  const subject = `root ${next.version}`;
  const [from, to] = [readRootDocument(current.bytes), readRootDocument(next.bytes)];
  if (next.version === current.version) {
    // The same root with other signatures or white space.
    if (signedBytes(from).equals(signedBytes(to))) return current;
    throw new FleetError('EQUIVOCATION', 'there are two roots of one version', {
      subject,
      hint: `Report both: ${current.digest} and ${next.digest}`,
    });
  }
  if (next.version !== current.version + 1) {
    throw new FleetError('ROOT_VERSION', `root ${current.version + 1} is missing before it`, {
      subject,
      hint: 'Bring every root from the one this machine has',
    });
  }
  if (!isSignedBy(from, to)) {
    throw new FleetError('ROOT_THRESHOLD_OLD', 'too few officers of the root before it signed it', {
      subject,
    });
  }
  if (!isSignedBy(to, to)) {
    throw new FleetError('ROOT_THRESHOLD_NEW', 'too few of its own officers signed it', { subject });
  }
  return next;
};
