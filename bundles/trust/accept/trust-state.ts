import type { Digest } from '../../digest.ts';
import type { Channel } from '../../names.ts';
import type { TrustRoot } from '../root/root.ts';

/** A statement that was accepted before, kept with its signatures so that it can be judged again under a new root. */
export type KeptStatement = {
  readonly envelopes: readonly Uint8Array[];
  readonly version: number;
  readonly digest: Digest;
};

/** Accepted state of an agent, stored and changed in one transaction. */
export type TrustState = {
  readonly fleet: string;
  readonly site: string;
  readonly agent: string;
  /** SPKI PEM of the agent's own key: a site statement that names another key is not for it. */
  readonly key: string;
  /** SHA-256 of the root file given by hand at enrolment. */
  readonly pinnedRoot: Digest;
  readonly root: TrustRoot | undefined;
  readonly siteStatement: KeptStatement | undefined;
  readonly release: KeptStatement | undefined;
  /** The last release of each channel followed before this one: moving an agent there and back lowers no floor. */
  readonly formerReleases?: readonly KeptStatement[];
  /** The newest lease of each channel, this one and those before. */
  readonly leases?: readonly KeptStatement[];
  /** Bundles that accepted releases of this channel have revoked. Later lists can only add to it. */
  readonly revoked?: readonly Digest[];
  readonly channel: Channel | undefined;
  /** Newest signed time accepted so far. */
  readonly time: Date | undefined;
};

/** The moment of a decision. `trusted` says whether the clock is known to be synchronised. */
export type Clock = { readonly now: Date; readonly trusted: boolean };

/** Limits a site may tighten. */
export type AcceptPolicy = {
  /** Longest validity a release or site statement may claim, in days. */
  readonly maxValidityDays: number;
  /** Version of the running agent, for minAgent. */
  readonly agentVersion: string;
  /** Break-glass override: expired documents are accepted and listed in `Accepted.relaxed`. */
  readonly acceptExpired?: boolean;
};

export const DEFAULT_MAX_VALIDITY_DAYS = 400;
