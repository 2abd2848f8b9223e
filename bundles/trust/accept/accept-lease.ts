import { type Digest, digestOf } from '../../digest.ts';
import { type FleetError, isFleetError, toFleetError } from '../../errors.ts';
import { PREDICATES } from '../../media-types.ts';
import { type Channel, formatChannel, sameChannel } from '../../names.ts';
import type { LeasePredicate } from '../../formats/statements/predicates.ts';
import { verifyEnvelope } from '../statements/verify-statement.ts';
import type { TrustRoot } from '../root/root.ts';
import type { ChannelDocuments } from './documents.ts';
import { type AcceptedLease, judgeLease } from './judge-lease.ts';
import { keptPredicate, keptSubject } from './kept-predicate.ts';
import { keptUnder } from './kept-under.ts';
import type { AcceptPolicy, Clock, KeptStatement, TrustState } from './trust-state.ts';

export type JudgedLeases = {
  readonly lease: AcceptedLease | undefined;
  /** Errors of the leases of a registry that were skipped: every client that may push can add leases. */
  readonly skipped: readonly FleetError[];
};

/**
 * Returns the newest lease of a release: from a medium its only one, whose errors are fatal; from a registry the newest
 * valid one; otherwise the one accepted before.
 * @param release digest of the release statement in force after this import; undefined when there is none
 * @throws FleetError LEASE_MISMATCH, ROLLBACK, EQUIVOCATION, FROM_FUTURE, and as the attack table names them
 */
export const acceptLease = async (
  state: TrustState,
  root: TrustRoot,
  documents: ChannelDocuments,
  channel: Channel,
  release: Digest | undefined,
  clock: Clock,
  policy: AcceptPolicy,
): Promise<JudgedLeases> => {
  const kept = keptUnder(leaseOf(state, channel), root.roles.lease, PREDICATES.lease);
  const judge = (envelopes: readonly Uint8Array[]): AcceptedLease =>
    judgeLease({ fleet: state.fleet, root, channel, release, kept, clock, policy }, envelopes);
  const { files, skipped } = await documents.leases(channel);
  if (documents.from === 'medium') {
    const lease = files.length > 0 ? judge(files) : undefined;
    return { lease: lease ?? stillFits(kept, release), skipped: [] };
  }
  const { good, bad } = sift(files, root, judge, `a lease of ${formatChannel(channel)}`);
  const newest = good.toSorted((a, b) => b.predicate.version - a.predicate.version)[0];
  return { lease: newest ?? stillFits(kept, release), skipped: [...skipped, ...bad] };
};

/** The floor of this channel's leases. */
const leaseOf = (state: TrustState, channel: Channel): KeptStatement | undefined =>
  (state.leases ?? []).find((kept) => sameChannel((keptPredicate(kept) as LeasePredicate).audience, channel));

/** The kept lease if it is about this release. For another release it remains only a version floor. */
const stillFits = (
  kept: KeptStatement | undefined,
  release: Digest | undefined,
): AcceptedLease | undefined =>
  kept && release !== undefined && keptSubject(kept, 'release') === release
    ? { statement: kept, predicate: keptPredicate(kept) as LeasePredicate, news: 'kept' }
    : undefined;

/** Groups valid signatures by payload and checks each payload separately. */
const sift = (
  files: readonly Buffer[],
  { roles }: TrustRoot,
  judge: (envelopes: readonly Uint8Array[]) => AcceptedLease,
  what: string,
): { readonly good: readonly AcceptedLease[]; readonly bad: readonly FleetError[] } => {
  const texts = new Map<Digest, Buffer[]>();
  const good: AcceptedLease[] = [];
  const bad: FleetError[] = [];
  const orSkip = (work: () => void): void => {
    try {
      work();
    } catch (error) {
      if (!isFleetError(error)) throw error;
      bad.push(toFleetError(error));
    }
  };
  for (const file of files) {
    orSkip(() => {
      const text = digestOf(verifyEnvelope(file, roles.lease.keys, what).payload);
      texts.set(text, [...(texts.get(text) ?? []), file]);
    });
  }
  for (const envelopes of texts.values()) orSkip(() => good.push(judge(envelopes)));
  return { good, bad };
};
