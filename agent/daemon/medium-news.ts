import { defined } from '#bundles/defined';
import { formatChannel } from '#bundles/names';
import type { Judged } from '../acquire/offers/accept-offer.ts';
import type { AcceptedOffer } from '../acquire/offers/accepted-offer.ts';
import type { FetchedImages } from '../acquire/blobs/fetch-surveyed.ts';
import type { Agent } from '../store/agent.ts';
import type { ReleaseRef } from '../store/applied/package-ref.ts';
import type { Acknowledged } from '../store/outbox/acknowledge.ts';
import { readTrustRow } from '../store/trust.ts';

/** Contents of a medium that this agent accepted. */
export type MediumNews = {
  /** The medium's release for this agent; undefined if it has only a site statement. */
  readonly release: ReleaseRef | undefined;
  /** 'same': it was imported before. */
  readonly news: 'newer' | 'same' | undefined;
  /** Set if neither agent nor medium has a release of this agent's channel; `offered` lists the channels on the medium. */
  readonly missing?: { readonly channel: string; readonly offered: readonly string[] };
  /** false: the rollout does not select this agent yet. */
  readonly selected: boolean;
  readonly rootVersion: number;
  readonly siteVersion: number;
  /** Version of the lease that the medium brought for the release in force; undefined without one. */
  readonly leaseVersion: number | undefined;
  /** Expired statements that were accepted by break-glass. */
  readonly relaxed: readonly ('site' | 'release' | 'lease')[];
  /** Events that receipts on the medium acknowledged. */
  readonly acknowledged: number;
  /** Receipts on the medium that contradict the events of this outbox; they released nothing. */
  readonly contradictingReceipts: number;
  /** Container images of the release. */
  readonly images: FetchedImages;
};

/** Describes an offer that `storeAccepted` has stored. @param state the state in which it is stored */
export const mediumNews = (
  { state }: Pick<Agent, 'state'>,
  judged: AcceptedOffer,
  acknowledged: Acknowledged,
): MediumNews => {
  const { release, root, site, lease, relaxed, selected } = judged.accepted;
  return {
    release: release && { ...site.agent.channel, version: release.predicate.version },
    news: release?.news,
    ...defined({
      missing: !release && readTrustRow(state).desiredRelease === undefined ? missingFrom(judged) : undefined,
    }),
    selected,
    rootVersion: root.version,
    siteVersion: site.predicate.version,
    leaseVersion: lease?.news === 'kept' ? undefined : lease?.predicate.version,
    relaxed,
    acknowledged: acknowledged.events,
    contradictingReceipts: acknowledged.contradicting,
    images: judged.images,
  };
};

const missingFrom = ({ accepted: { site }, offer: { documents } }: Judged): MediumNews['missing'] => ({
  channel: formatChannel(site.agent.channel),
  offered: [...new Set(documents.claimedChannels.map(formatChannel))],
});
