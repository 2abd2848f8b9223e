import type { Digest } from '#bundles/digest';
import type { Timestamp } from '#bundles/time';
import type { CheckFacts } from '../checks/check-records.ts';
import type { ChangedPackage } from './changed-package.ts';
import type { FollowerKind } from '../../store/tables.ts';
import type { Visit } from '../../questions/state/next-visit.ts';

/**
 * Facts about the candidate from an agent's own reports. Only reports about a release of the candidate count: an agent that has
 * not imported one is `waiting`, regardless of its health.
 */
export type AgentState =
  | {
      readonly kind: 'complies';
      readonly since: Timestamp /** A failure or drift of the candidate ended before. */;
      readonly faulted: boolean;
    }
  | { readonly kind: 'failed' | 'drifted'; readonly why: string }
  | { readonly kind: 'waiting'; readonly why: string };

export type AgentFacts = {
  /** '<site>/<agent>' */
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly enrolledAt: Timestamp;
  /** The time that its newest word describes, at the site; null: it never reported. */
  readonly knownAt: Timestamp | null;
  /** Whether it was ever heard over the network; otherwise its reports come on a medium. */
  readonly online: boolean;
  /** By when its next medium is expected, for an agent that is not on the network and has a rhythm. */
  readonly visit?: Visit;
  readonly state: AgentState;
  /** Kind of the follower whose unsigned notifications these facts are from. Absent: signed reports of an agent. */
  readonly follower?: FollowerKind;
};

/** A channel of the earlier environment, and the release that was made from the candidate. */
export type ChannelFacts = {
  readonly channel: string;
  /** First release of the unbroken run of releases made from the candidate up to the current one; null: the current is not. */
  readonly since: { readonly version: number; readonly issuedAt: Timestamp } | null;
  /** Its current content instead, as text: 'release 7 of candidate sha256:...', 'no release'. */
  readonly now: string;
};

/** Keys of people, by hint. */
export type ApprovalKeys = {
  /** The bundle role of the newest root. */
  readonly bundle: readonly string[];
  /** Keys that built the candidate: the first signer of each of its bundles in the earlier environment. */
  readonly authors: readonly string[];
};

/**
 * Workspaces, sorted, of the assignments that a candidate would change in the later environment. `others`: what it changes there
 * and no workspace owns, in words. `packages`: the changed assignments, by cluster type and name.
 */
export type Changes =
  | {
      readonly kind: 'known';
      readonly workspaces: readonly string[];
      readonly others: readonly string[];
      readonly packages: readonly ChangedPackage[];
    }
  | { readonly kind: 'unknown'; readonly why: string };

/** Finds the changes that a candidate would make in an environment. @param candidate of the environment before */
export type ReadChanges = (to: string, candidate: Digest, signal: AbortSignal) => Promise<Changes>;

/** Everything that the gate looks at besides decisions and the clock. Plain data, so that a simulation can make it up. */
export type GateFacts = {
  readonly from: string;
  readonly to: string;
  /** Shared digest of the candidate. */
  readonly shared: Digest;
  readonly channels: readonly ChannelFacts[];
  /**
   * '<channel>: <assignment>: <why>' for each assignment that the earlier environment holds: it runs an older package there, or
   * none. Absent: none is held.
   */
  readonly held?: readonly string[];
  /** Every enrolled agent of the earlier environment. */
  readonly agents: readonly AgentFacts[];
  /** By name of the policy's check. */
  readonly checks: ReadonlyMap<string, CheckFacts>;
  readonly keys: ApprovalKeys;
  /** One for each of the policy's attestations, in their order. */
  readonly attestations?: readonly AttestationFacts[];
  /** Absent: not looked for, because no approval and no policy needs it. */
  readonly changes?: Changes;
};

/** Which images of the candidate carry an attestation. */
export type AttestationFacts = {
  readonly type: string;
  /** Images that must carry it. */
  readonly images: number;
  /** '<image> (<packages>): <why>' for each that does not. */
  readonly missing: readonly string[];
};
