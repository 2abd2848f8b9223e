import type { Timestamp } from '#bundles/time';

/** Public state of an agent, for an object of the cluster and for metrics. Plain data without secrets. */
export type AgentFacts = {
  readonly fleet: string;
  /** <site>/<agent> */
  readonly agent: string;
  readonly version: string;
  readonly channel: string | null;
  readonly release: {
    readonly version: number;
    /** Its own end, or the later one of its lease. */
    readonly expires: Timestamp;
    /** No statement proves any more that it is the newest. */
    readonly stale: boolean;
  } | null;
  readonly packages: readonly PackageFacts[];
  /** The last comparison with live state. */
  readonly lookedAt: Timestamp | null;
  readonly outbox: { readonly events: number; readonly bytes: number };
  /** null: not configured. */
  readonly hub: ContactFacts | null;
  readonly registry: ContactFacts | null;
  readonly verdict: Verdict;
  /** One sentence for each thing that the agent waits for, and what to do. */
  readonly waitsFor: readonly string[];
};

/** Failed: a package failed. Waiting: something is held back, differs or was not looked at. */
export type Verdict = 'Ready' | 'Failed' | 'Waiting';

export type ContactFacts = {
  readonly last: Timestamp | null;
  readonly failing: { readonly since: Timestamp; readonly code: string } | null;
};

export type PackageFacts = {
  readonly name: string;
  readonly status: string;
  readonly since: Timestamp;
  /** Digest of the running package, shortened, and the release that brought it. */
  readonly package: string | null;
  readonly release: number | null;
  /** The release of the wanted package, where another one runs. */
  readonly wanted: number | null;
  /** Number of objects that differ. */
  readonly drift: number;
  readonly message: string | null;
};

/** Something that happened to a package, for a person who watches. */
export type Happening = {
  /** Hash of the event, unique. */
  readonly id: string;
  readonly at: Timestamp;
  readonly isWarning: boolean;
  readonly reason: HappeningReason;
  readonly message: string;
};

export type HappeningReason =
  | 'Applied'
  | 'Corrected'
  | 'Drifted'
  | 'Failed'
  | 'Healthy'
  | 'Held'
  | 'More'
  | 'Removed'
  | 'RolledBack';
