import type { Digest } from '#bundles/digest';
import type { ErrorCode, FleetError, Place } from '#bundles/errors';
import type { Channel } from '#bundles/names';
import type { Revoked } from '../load/releases/revocation-list.ts';
import type { Removal } from '../release/removals/removal.ts';
import type { Superseded } from '../release/rollout/begin-rollout.ts';

/** Result of a build for one channel. */
export type ChannelOutcome = Channel & {
  /**
   * 'renewed': the same bundle under a new number, because its release expires soon or predates a root rotation. 'awaiting':
   * the bundle lacks signatures (docs/signing.md); sites keep the current release. 'empty': the channel has no release, and the
   * bundle has no packages. 'blocked': the release would remove a package that is only held. 'removals-held': the release would
   * remove packages although no object was deleted, and the last release cannot supply them. 'revoked': the bundle that was built has been withdrawn. 'direct-held': the
   * bundle changed without a promotion, and the policy of the link forbids that. 'taken-back': its rollout, or the channel, was
   * taken back and not resumed.
   */
  readonly outcome:
    | 'released'
    | 'renewed'
    | 'awaiting'
    | 'unchanged'
    | 'empty'
    | 'blocked'
    | 'removals-held'
    | 'revoked'
    | 'direct-held'
    | 'taken-back';
  readonly version: number;
  readonly bundle: Digest | undefined;
  readonly assignments: number;
  readonly held: readonly {
    readonly assignment: string;
    readonly code: ErrorCode;
    readonly message: string;
    readonly at: Place | undefined;
    readonly kept: Digest | undefined;
    readonly error: FleetError;
  }[];
  /** The bundle differs from the released one, and both were built from the same promotion: the environment's own change. */
  readonly direct?: true;
  /** Packages of the last release that the new bundle does not have. */
  readonly removals: readonly Removal[];
  /** Removals that were neither declared nor allowed. Their packages stay as they were, whether or not the rest is released. */
  readonly unmeant: readonly Removal[];
  /** REMOVALS_HELD, set if there are unmeant removals. */
  readonly waits?: FleetError;
  /** The candidate of this build gave the released bundle again, and its statement says so now: no release follows from that. */
  readonly restated?: true;
  /** Number of blobs of an unchanged bundle that were missing or damaged in the layout and were written again. */
  readonly restored: number;
  /** The revocation, set with 'revoked'. */
  readonly revoked?: Revoked;
  /** ROLLOUT_TAKEN_BACK or ROLLED_BACK, set with 'taken-back'. */
  readonly takenBack?: FleetError;
  /** The stage that the new release begins with, if the environment has a RolloutPolicy. */
  readonly stage?: string;
  /** The rollout that the new release ended before it was complete. */
  readonly superseded?: Superseded;
  /** Why the current release could not be renewed although it was due. */
  readonly fault?: FleetError;
  /** Why the last release of the channel is passed over: no agent can read it. The bundle was compared with the one before. */
  readonly unread?: FleetError;
  /** Why the channel's lease could not be renewed for the new release. Until it is, the channel has no valid lease. */
  readonly leaseVoid?: FleetError;
};
