import { FleetError } from '../errors.ts';
import { formatChannel } from '../names.ts';
import type { TrustRoot } from '../trust/root.ts';
import { type AcceptedRelease, acceptRelease } from './accept-release.ts';
import { acceptRoot } from './accept-root.ts';
import { type AcceptedSite, acceptSite } from './accept-site.ts';
import type { ChannelDocuments } from './documents.ts';
import { isSelected } from './is-selected.ts';
import { timeFloorUnder } from './time-floor-under.ts';
import type { AcceptPolicy, Clock, TrustState } from './trust-state.ts';

/** Everything one import may change, judged and not yet stored: the caller moves all of it in one transaction. */
export type Accepted = {
  readonly root: TrustRoot;
  readonly site: AcceptedSite;
  /** undefined: the source brings no release for this agent's channel (an enrolment answer). */
  readonly release: AcceptedRelease | undefined;
  /** false: the rollout leaves this agent where it is. */
  readonly selected: boolean;
  /** The time floor from now on; earlier than the one before if the statement that set that was revoked by a new root. */
  readonly time: Date;
};

/**
 * The acceptance algorithm (docs/bundle-format.md section 8): root chain, time, site, release, bundle statements. Reads
 * documents only, changes nothing, and is the same for a medium and a registry.
 * @throws FleetError with the code of the attack table
 */
export const acceptChannel = async (
  state: TrustState,
  documents: ChannelDocuments,
  clock: Clock,
  policy: AcceptPolicy,
): Promise<Accepted> => {
  const root = acceptRoot(state, documents.roots, clock);
  const floor = timeFloorUnder(state, root);
  const site = await acceptSite({ ...state, time: floor }, root, documents, clock, policy);
  // What the site statement proves about the time holds for the release beside it, however dead the clock.
  const proven = nextTimeFloor(floor, root, site.issued);
  const { channel } = site.agent;
  const claimed = documents.claimedChannels.map(formatChannel);
  const offered = claimed.includes(formatChannel(channel));
  if (!offered && claimed.length > 0 && documents.site.length === 0) {
    throw new FleetError(
      'WRONG_CHANNEL',
      `this is for ${claimed.slice(0, 5).join(', ')}, this agent follows ${formatChannel(channel)}`,
    );
  }
  const release = offered
    ? await acceptRelease(
        { ...state, time: proven },
        root,
        documents,
        channel,
        site.predicate.version,
        clock,
        policy,
      )
    : undefined;
  return {
    root,
    site,
    release,
    selected: release !== undefined && isSelected(release.predicate.rollout, state, site.agent.labels),
    time: release ? nextTimeFloor(proven, root, release.issued) : proven,
  };
};

/** Signed evidence of time, but never beyond the root's own end: a stolen key cannot push the clock for ever. */
const nextTimeFloor = (floor: Date | undefined, root: TrustRoot, issued: Date): Date =>
  new Date(Math.max(floor?.getTime() ?? 0, Math.min(issued.getTime(), root.expires.getTime())));
