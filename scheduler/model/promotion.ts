import type { Digest } from '#bundles/digest';
import type { Place } from '#bundles/errors';
import type { CertificatePolicy } from '#bundles/formats/bundle/image-policy';
import type { Rollout } from '#bundles/formats/statements/predicates';

/**
 * Kinds that bring content or grant rights. In a chained environment they come from the promoted candidate, so its own folder may
 * not hold them.
 */
export const SHARED_KINDS = [
  'Workspace',
  'WorkloadRegistration',
  'Workload',
  'Template',
  'ImagePolicy',
  'ImageFields',
] as const;

export type SharedKind = (typeof SHARED_KINDS)[number];

/** An environment of a fleet, and the one that its releases are promoted from; without one it builds the newest snapshot. */
export type EnvironmentEntry = {
  readonly name: string;
  readonly promotedFrom?: string;
  /** Kinds of shared objects that its own folder may hold although it is chained. */
  readonly directKinds?: readonly SharedKind[];
};

/** Labels that a site's agent must all have. */
export type AgentSelector = { readonly matchLabels: Readonly<Record<string, string>> };

/** A share of agents: a number, or percent of those that count. */
export type Share = { readonly count: number } | { readonly percent: number };

/** An attestation that images of a candidate must carry (docs/promotion.md). */
export type AttestationRule = {
  /** Predicate type, 'https://spdx.dev/Document'. */
  readonly type: string;
  /** Patterns of 'host/repository'. */
  readonly match: readonly string[];
  readonly except: readonly string[];
  /** SPKI PEM; the signature of one of them is enough. */
  readonly keys: readonly string[];
  /** A signature by a certificate of one of these signers is enough, too. */
  readonly certificates?: CertificatePolicy | undefined;
};

/** A PromotionPolicy: what must be true before a candidate goes from one environment to the next. Durations are seconds. */
export type PromotionPolicy = {
  readonly name: string;
  readonly from: string;
  readonly to: string;
  readonly mode: 'manual' | 'automatic';
  readonly compliance?: {
    readonly percent?: number;
    readonly atLeast?: number;
    /** Which agents count: those that ever reported, or all that are enrolled. */
    readonly of: 'reported' | 'enrolled';
    /** Every agent with these labels must comply, and there must be one. */
    readonly require: readonly AgentSelector[];
  };
  /** How long compliance must have held. */
  readonly soakSeconds: number;
  /** An agent that was not heard for longer does not comply. */
  readonly freshnessSeconds?: number;
  /** Agents not heard for `afterSeconds`: they block, or no longer count. */
  readonly absent?: { readonly afterSeconds: number; readonly then: 'exclude' | 'block' };
  readonly approvals?: {
    readonly required: number;
    /** Fingerprints of the keys of the root's bundle role that count; empty: all. */
    readonly from: readonly string[];
    readonly notAuthor: boolean;
    /** So many for each workspace whose assignments the candidate changes; absent: for the candidate as a whole. */
    readonly eachWorkspace?: true;
  };
  /** Maintenance windows as agents write them; without any a promotion is allowed at all times. */
  readonly windows: readonly string[];
  readonly freeze: readonly { readonly from: string; readonly to: string; readonly reason?: string }[];
  readonly checks: readonly {
    readonly name: string;
    readonly url: string;
    readonly timeoutSeconds: number;
  }[];
  /** The signer judges the signed reports of the earlier environment, too; absent: it relies on the hub's judgement. */
  readonly evidence?: 'signed';
  readonly attestations?: readonly AttestationRule[];
  /** Whether changes of the later environment's own layer may be released without a promotion. */
  readonly direct: 'allow' | 'forbid';
  readonly at: Place;
};

/** A stage of a rollout. The stages' agents add up: each stage holds those of the stages before. */
export type RolloutStage = {
  readonly name: string;
  readonly selector?: AgentSelector;
  readonly percent?: number;
  readonly soakSeconds: number;
  readonly maxFailures: Share;
  readonly approvals: number;
};

/** A RolloutPolicy: in which steps a release reaches the agents of an environment. */
export type RolloutPolicy = {
  readonly name: string;
  readonly environment: string;
  readonly stages: readonly RolloutStage[];
  readonly deadlineSeconds?: number;
  readonly onFailure: 'stop' | 'take-back';
  readonly freshnessSeconds?: number;
  readonly absent?: PromotionPolicy['absent'];
  /** Changes of site values reach all their sites at once; absent: in the same stages as releases. */
  readonly siteValues?: 'at-once';
  readonly at: Place;
};

/** A stage of a plan, with the predicate of the releases that are issued while it is the newest. */
export type PlannedStage = {
  readonly name: string;
  readonly rollout: Rollout;
  readonly soakSeconds: number;
  readonly maxFailures: Share;
  readonly approvals: number;
};

/** The stages of a rollout and how they are judged, without what is rolled out: as they are fixed when it starts. */
export type StagePlan = {
  readonly policy: string;
  readonly stages: readonly PlannedStage[];
  readonly deadlineSeconds: number | null;
  readonly onFailure: RolloutPolicy['onFailure'];
  readonly freshnessSeconds: number | null;
  readonly absent: { readonly afterSeconds: number; readonly then: 'exclude' | 'block' } | null;
  /** Changes of site values reach all their sites at once; absent: in these stages. */
  readonly siteValues?: 'at-once';
};

/** How old the last word of an agent may be, by environment (FreshnessPolicy). */
export type FreshnessPolicy = {
  readonly name: string;
  readonly environment: string;
  /** Cluster types that it is limited to; empty: all. */
  readonly clusterTypes: readonly string[];
  /** After this it is late, and still expected. */
  readonly lateSeconds: number;
  /** After this what it said no longer counts. */
  readonly staleSeconds: number;
  /** The rhythm in which media reach an agent that is not on the network. */
  readonly visitsSeconds?: number;
  /** A host that needs a reboot for longer raises an alarm; absent: it does not. */
  readonly rebootSeconds?: number;
  readonly at: Place;
};

/** The chain of a platform and its policies, read from the newest snapshot, never from a candidate. */
export type Promotion = {
  readonly environments: readonly EnvironmentEntry[];
  readonly promotionPolicies: readonly PromotionPolicy[];
  readonly rolloutPolicies: readonly RolloutPolicy[];
  readonly freshnessPolicies: readonly FreshnessPolicy[];
};

/** The newest promotion to an environment, as the audit log has it. */
export type Promoted = {
  readonly from: string;
  readonly to: string;
  readonly number: number;
  readonly candidate: Digest;
  readonly shared: Digest;
};
