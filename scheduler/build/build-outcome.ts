import type { Digest } from '#bundles/digest';
import type { FleetError } from '#bundles/errors';
import type { Promoted } from '../model/promotion.ts';
import type { ChannelOutcome } from './channel-outcome.ts';

export type EnvironmentOutcome = {
  readonly environment: string;
  /** Digest of the candidate document; undefined if the environment was not built. */
  readonly candidate?: Digest;
  readonly channels: readonly ChannelOutcome[];
  /** Applications whose repositories cannot be read. Sites keep the packages of their workspaces. */
  readonly heldWorkloads: readonly {
    readonly registration: string;
    readonly errors: readonly FleetError[];
  }[];
  readonly advice: readonly FleetError[];
  /** Errors in the platform's own objects. If there is one, the environment was not built. */
  readonly problems: readonly FleetError[];
  /** The promotion to the environment, if it is chained. */
  readonly promoted?: Promoted;
  /** NOT_PROMOTED: the environment was not built, and its releases were renewed where that was due. */
  readonly waits?: FleetError;
};

export type BuildOutcome = {
  readonly environments: readonly EnvironmentOutcome[];
  readonly channels: readonly ChannelOutcome[];
  readonly advice: readonly FleetError[];
  /** Channels that the platform had at the build before and has no more. */
  readonly abandoned: readonly FleetError[];
};

/** An environment of which nothing was built. */
export const notBuilt = (
  environment: string,
  why: Pick<EnvironmentOutcome, 'problems'> | Pick<EnvironmentOutcome, 'waits' | 'channels' | 'promoted'>,
): EnvironmentOutcome => ({
  environment,
  channels: [],
  heldWorkloads: [],
  advice: [],
  problems: [],
  ...why,
});
