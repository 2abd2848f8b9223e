import { type Digest, digestOf } from '../digest.ts';
import { type FleetError, isFleetError, toFleetError } from '../errors.ts';
import { PREDICATES } from '../media-types.ts';
import { type Channel, formatChannel, sameChannel } from '../names.ts';
import type { LeasePredicate } from '../statements/predicates.ts';
import { verifyEnvelope } from '../statements/verify-statement.ts';
import type { TrustRoot } from '../trust/root.ts';
import type { ChannelDocuments } from './documents.ts';
import { type AcceptedLease, judgeLease } from './judge-lease.ts';
import { keptPredicate, keptSubject } from './kept-predicate.ts';
import { keptUnder } from './kept-under.ts';
import type { AcceptPolicy, Clock, KeptStatement, TrustState } from './trust-state.ts';

export type JudgedLeases = {
  readonly lease: AcceptedLease | undefined;
  /** Why leases of a registry were left aside: there, anyone who may push can add to them. */
  readonly skipped: readonly FleetError[];
};

/**
 * The newest lease of a release: of a medium the one that it brings, where anything wrong with it is fatal; of a registry
 * the newest good one, whatever lies beside it; else the one accepted before.
 * @param release digest of the release statement that is in force once this is accepted; undefined: there is none
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

/** A kept lease remains a floor when the release moves on, and says nothing of the new one. */
const stillFits = (
  kept: KeptStatement | undefined,
  release: Digest | undefined,
): AcceptedLease | undefined =>
  kept && release !== undefined && keptSubject(kept, 'release') === release
    ? { statement: kept, predicate: keptPredicate(kept) as LeasePredicate, news: 'kept' }
    : undefined;

/** Each text with the good signatures over it, judged by itself. */
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
