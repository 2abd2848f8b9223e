import type { Digest } from '#bundles/digest';
import type { Timestamp } from '#bundles/time';

/**
 * Events that can change a condition: a report over the network or on a medium, a person, the clock, a build, an external
 * check.
 */
export type Change = 'network' | 'medium' | 'person' | 'clock' | 'release' | 'check';

/** Agents, or other things, that hold a condition back: the first ten as '<name>: <why>', and how many there are. */
export type HoldingAgents = { readonly count: number; readonly first: readonly string[] };

/** One condition of a gate. */
export type Condition = {
  /** 'compliance', 'soak', 'check load-test'; unique within a verdict. */
  readonly name: string;
  readonly wanted: string;
  readonly found: string;
  /** `found` and `wanted` as numbers, for a condition that counts agents, approvals, images or channels. */
  readonly progress?: { readonly found: number; readonly wanted: number };
  readonly met: boolean;
  readonly holding: HoldingAgents;
  /** The earliest time at which the clock alone can meet it; null: it is met, or needs news first. */
  readonly earliest: Timestamp | null;
  /** By when the media that it waits for are expected; absent if that is not known of each, or one is overdue. */
  readonly expectedBy?: Timestamp;
  /** Empty for a met condition. */
  readonly changedBy: readonly Change[];
  /** Of approvals by workspace: each workspace that the candidate changes. */
  readonly workspaces?: readonly ApprovedWorkspace[];
};

/** A workspace that the candidate changes, and the number of approvals that count for it. */
export type ApprovedWorkspace = {
  readonly workspace: string;
  readonly wanted: number;
  readonly found: number;
};

/**
 * `ready`: every condition is met. `promoted`: it was promoted and nothing newer since. `superseded`: the earlier environment
 * runs another candidate, or a newer one was promoted after it.
 */
export const GATE_STATES = ['waiting', 'ready', 'promoted', 'rejected', 'paused', 'superseded'] as const;
export type GateState = (typeof GATE_STATES)[number];

/** The judgement of one candidate at one link of the chain. */
export type Verdict = {
  readonly from: string;
  readonly to: string;
  /** Shared digest of the candidate. */
  readonly shared: Digest;
  readonly state: GateState;
  /** For states set by a decision: person, time and reason. */
  readonly note: string | null;
  readonly conditions: readonly Condition[];
  /** Payload digests of the approvals that count, sorted. */
  readonly approvals: readonly Digest[];
};

const SHOWN = 10;

/** @param entries all that hold it back, in the order to show */
export const holdingOf = (entries: readonly string[]): HoldingAgents => ({
  count: entries.length,
  first: entries.slice(0, SHOWN),
});

export const NO_HOLDING: HoldingAgents = { count: 0, first: [] };
