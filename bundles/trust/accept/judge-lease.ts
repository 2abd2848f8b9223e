import { type Digest, shortDigest } from '../../digest.ts';
import { FleetError } from '../../errors.ts';
import { PREDICATES } from '../../media-types.ts';
import { type Channel, formatChannel } from '../../names.ts';
import type { LeasePredicate } from '../../formats/statements/predicates.ts';
import { verifyStatement } from '../statements/verify-statement.ts';
import type { TrustRoot } from '../root/root.ts';
import { parseAs } from '../../json/parse-as.ts';
import { LEASE_PREDICATE } from '../../json/schema/validators.js';
import { checkAudience } from './check-audience.ts';
import { checkVersion } from './check-version.ts';
import { newFloorStatement } from './statement-to-keep.ts';
import type { AcceptPolicy, Clock, KeptStatement } from './trust-state.ts';
import { checkDates } from './trusted-time.ts';

/** A valid lease of the release in force. Whether it is live depends on the time (isLiveLease). */
export type AcceptedLease = {
  readonly statement: KeptStatement;
  readonly predicate: LeasePredicate;
  /** 'kept': the one accepted before; the source brings no newer one. */
  readonly news: 'newer' | 'same' | 'kept';
};

/** Values that a lease is checked against. */
type Measure = {
  readonly fleet: string;
  readonly root: TrustRoot;
  readonly channel: Channel;
  /** Digest of the release statement that it has to be about. */
  readonly release: Digest | undefined;
  readonly kept: KeptStatement | undefined;
  readonly clock: Clock;
  readonly policy: AcceptPolicy;
};

/**
 * Judges one lease: it is signed by the lease role, for this channel, not older than the last, and about the release in force. An
 * expired lease is still valid evidence: it moves the floors, but is not live.
 * @throws FleetError as the attack table names them
 */
export const judgeLease = (measure: Measure, envelopes: readonly Uint8Array[]): AcceptedLease => {
  const { fleet, root, channel, release, kept, clock, policy } = measure;
  const what = `the lease of ${formatChannel(channel)}`;
  const verified = verifyStatement(envelopes, root.roles.lease, PREDICATES.lease, what);
  const predicate = parseAs(LEASE_PREDICATE, verified.predicate, what);
  checkAudience(predicate.audience, { fleet, ...channel }, what);
  const news = checkVersion(kept, predicate.version, verified.digest, what);
  checkDates(predicate, clock, policy.maxValidityDays, what);
  const about = verified.subjects.find(({ name }) => name === 'release')?.digest;
  if (about === undefined) throw new FleetError('SCHEMA', `${what} names no release`);
  if (about !== release) {
    const mine = release === undefined ? 'there is no release here' : `not about ${shortDigest(release)}`;
    throw new FleetError('LEASE_MISMATCH', `${what} is about release ${shortDigest(about)}, ${mine}`, {
      subject: about,
      hint: 'Bring the lease of the release that is in force here, or the release that this one is about',
    });
  }
  return {
    statement: newFloorStatement(
      { envelopes, version: predicate.version, digest: verified.digest, news },
      kept,
    ),
    predicate,
    news,
  };
};
