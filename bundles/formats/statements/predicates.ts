import type { BundleKind, Channel } from '../../names.ts';
import type { Digest } from '../../digest.ts';
import type { Place } from '../../errors.ts';
import type { Json } from '../../json/canonical.ts';
import type { Timestamp } from '../../time.ts';

/** Predicates of our statements (docs/bundle-format.md section 7), one type each; the schemas validate them. */

export type Audience = { readonly fleet: string } & Channel;

export type CandidateSource = {
  readonly role: string;
  readonly repo: string;
  readonly path: string;
  readonly tree: Digest;
  readonly ref?: string;
  readonly commit?: string;
  /** Version in the words of the application's team, and its commit, from Kalypso's DeploymentDescriptor. */
  readonly described?: { readonly version: string; readonly commit?: string };
};

/** Subject 'bundle': the manifest. Role: bundle. */
export type BundlePredicate = {
  readonly fleet: string;
  readonly environment: string;
  readonly clusterType: string;
  readonly kind: BundleKind;
  readonly candidate: Digest;
  /** `sharedDigest` of the candidate: all of its sources but the environment's layer. Absent in statements of older versions. */
  readonly shared?: Digest;
  /** The shared digest that was promoted to this environment; absent where nothing is promoted to it. */
  readonly promoted?: Digest;
  readonly sources: readonly CandidateSource[];
  readonly held: readonly {
    readonly assignment: string;
    readonly code: string;
    readonly message: string;
    readonly at?: Place;
    /** The last good package used instead, if one was given. */
    readonly kept?: Digest;
  }[];
  readonly builder: string;
  readonly builtAt: Timestamp;
};

/** Agents with all labels of the selector whose bucket (0 to 99, the hash of their name) is below the percentage. */
export type RolloutTerm = { readonly selector?: Readonly<Record<string, string>>; readonly percent: number };

/**
 * Which agents a release reaches: the agents of the term, and those of each term in `also`. Readers that do not know `also`
 * ignore it, so they are selected late and never early.
 */
export type Rollout = RolloutTerm & { readonly also?: readonly RolloutTerm[] };

/** Subjects: 'bundle/kubernetes', 'bundle/host', 'revocations', 'agent'. Role: release. The envelope is frozen for ever. */
export type ReleasePredicate = {
  readonly audience: Audience;
  /** +1 for each release of the channel. */
  readonly version: number;
  readonly rollout: Rollout;
  readonly rootVersion: number;
  readonly issuedAt: Timestamp;
  readonly expires: Timestamp;
  /** Digest of the payload of the release before. */
  readonly previous: Digest | null;
  readonly minAgent: string | null;
  readonly minSiteVersion: number;
  readonly auditHead: Digest | null;
  readonly critical: readonly string[];
};

export type SiteAgent = {
  readonly name: string;
  /** SPKI PEM of the agent's P-256 key. */
  readonly key: string;
  /** age X25519 recipient (`age1...`) that this agent's secrets are sealed to; absent for agents enrolled without one. */
  readonly recipient?: string;
  /** Secret sets of the site that are not sealed to the current recipient of this agent. */
  readonly unreadable?: readonly string[];
  readonly channel: Channel;
  /** The channel it may come from when its channel changes. */
  readonly previousChannel: Channel | null;
  readonly labels: Readonly<Record<string, string>>;
  readonly freshness: { readonly mode: 'release' } | { readonly mode: 'lease'; readonly seconds: number };
  /** The office asks this agent for a support bundle. Absent: it does not. */
  readonly support?: SupportRequest;
};

/** A request for one support bundle. An agent answers an id once, and none after `until`. */
export type SupportRequest = { readonly id: string; readonly until: Timestamp };

/** Subjects: 'site-values', 'secrets/<name>' (a sealed secret set). Role: release. */
export type SitePredicate = {
  readonly audience: { readonly fleet: string; readonly site: string };
  readonly version: number;
  readonly agents: readonly SiteAgent[];
  readonly issuedAt: Timestamp;
  readonly expires: Timestamp;
  readonly critical: readonly string[];
};

/** Subject 'release': digest of a release payload. Role: lease. */
export type LeasePredicate = {
  readonly audience: Audience;
  readonly version: number;
  readonly issuedAt: Timestamp;
  readonly expires: Timestamp;
  readonly critical: readonly string[];
};

/**
 * Subject 'candidate': the candidate that may be built in `to` from now on. Role: release, so that a signer judges it
 * (docs/promotion.md). An entry of the audit log.
 */
export type PromotionPredicate = {
  readonly fleet: string;
  readonly from: string;
  readonly to: string;
  /** +1 for each promotion to this environment. */
  readonly number: number;
  /** Shared digest of the candidate. */
  readonly shared: Digest;
  readonly mode: 'manual' | 'automatic';
  /** The person who requested it; null: the policy. */
  readonly person: string | null;
  readonly reason: string | null;
  /** Digests of the policy and of the verdict that allowed it, canonical JSON; null: the link has no policy. */
  readonly policy: Digest | null;
  readonly verdict: Digest | null;
  /** Payload digests of the approvals that were counted, sorted. */
  readonly approvals: readonly Digest[];
  /** Digest of the payload of the promotion to `to` before. */
  readonly previous: Digest | null;
  readonly time: Timestamp;
  readonly critical: readonly string[];
};

/** Subject 'candidate'. One person's word on a promotion or on a stage of a rollout. Role: bundle, by the person's own key. */
export type ApprovalPredicate = {
  readonly fleet: string;
  readonly to: string;
  readonly shared: Digest;
  /** The stage of the rollout that it is about; absent: the promotion. */
  readonly stage?: string;
  /** It approves only what changes in these workspaces; absent: everything. With any, `critical` has APPROVAL_WORKSPACES. */
  readonly workspaces?: readonly string[];
  readonly person: string;
  readonly reason: string;
  readonly time: Timestamp;
  readonly critical: readonly string[];
};

/** Entry of `critical` in approvals that are limited to workspaces: older readers would count them for everything. */
export const APPROVAL_WORKSPACES = 'approvalWorkspaces';

export const DECISIONS = [
  'reject',
  'pause',
  'resume',
  'roll-back',
  'start-rollout',
  'advance',
  'take-back',
  'submit',
] as const;
export type DecisionKind = (typeof DECISIONS)[number];

/** Subject 'candidate' if it is about one, otherwise 'environment' with the digest of its name. Key: audit. */
export type DecisionPredicate = {
  readonly fleet: string;
  readonly decision: DecisionKind;
  readonly environment: string;
  /** Channel `<environment>/<cluster type>` or assignment that it is limited to; absent: the whole environment. */
  readonly only?: string;
  /** Shared digest of the candidate that it is about. */
  readonly shared?: Digest;
  /** Stage of the rollout. */
  readonly stage?: string;
  /** Digest of the document that it fixes, for example the plan of a rollout. */
  readonly plan?: Digest;
  /** With `roll-back` of a channel or an assignment. */
  readonly rollback?: {
    /** Number of the release that is used again. */
    readonly release: number;
    /** Of an assignment: its package there, the bundle with it, and the package that it replaces. */
    readonly taken?: { readonly bundle: Digest; readonly package: Digest; readonly instead: Digest };
    /** Of a channel: the bundles that it replaces. */
    readonly instead?: readonly Digest[];
  };
  /** null: a rule decided. */
  readonly person: string | null;
  readonly reason: string;
  readonly time: Timestamp;
  readonly critical: readonly string[];
};

/**
 * A change of the office that no promotion, approval or decision describes: of agents, tokens, sessions, secrets, roots and stored
 * facts. Subject 'change' with the digest of `about`. Key: audit.
 */
export type ChangePredicate = {
  readonly fleet: string;
  /** The verb, as people type it: 'sites revoke', 'tokens create'. Later versions may write others. */
  readonly change: string;
  /** '<site>/<agent>', a site, the id of a token or session, 'root' ... */
  readonly about: string;
  /** null: the program changed it, by a rule. */
  readonly person: string | null;
  /** null: none was given. */
  readonly reason: string | null;
  /** The state before and after; null: there was none. Secrets are in neither. */
  readonly old: { readonly [key: string]: Json } | null;
  readonly new: { readonly [key: string]: Json } | null;
  readonly time: Timestamp;
  readonly critical: readonly string[];
};

/** Subject 'log': the head of the audit log, the digest of its newest entry's line. Key: audit. */
export type AuditPredicate = {
  /** Numbers of the entries that this checkpoint covers for the first time. */
  readonly from: number;
  readonly to: number;
  /** Entries of the log. */
  readonly count: number;
  readonly time: Timestamp;
};

/** Lower bounds of an agent: it rejects versions and times below them. */
export type Floors = {
  readonly root: number;
  readonly site: number;
  readonly release: number;
  readonly lease: number;
  readonly time: Timestamp;
};

/** Subject 'events': the NDJSON blob. Signed by the agent. */
export type ReportPredicate = {
  readonly fleet: string;
  /** '<site>/<agent>' */
  readonly agent: string;
  readonly from: number;
  readonly to: number;
  /** `prev` of the first event and the hash of the last. */
  readonly firstPrev: Digest;
  readonly lastHash: Digest;
  readonly bootId: string;
  readonly time: Timestamp;
  readonly clockTrusted: boolean;
  readonly floors: Floors;
  /** Bundle manifests that are complete at the site. */
  readonly holds: readonly Digest[];
  /** When the agent last compared live state. Absent if it never did, or is older than this field. */
  readonly lookedAt?: Timestamp;
  /** Absent if the agent is older than this field. */
  readonly looks?: ReportedLooks;
};

/** How current the verdicts of an agent are. */
export type ReportedLooks = {
  /** Whether the service runs that looks regularly. 'none': commands look here. Absent if unknown. */
  readonly service?: 'running' | 'stopped' | 'none';
  /** Running packages that were last compared at another time than `lookedAt`; null: never, or at an unknown time. */
  readonly packages: { readonly [assignment: string]: Timestamp | null };
};

/** Subjects: the files of a support bundle, by their path in it. Signed by the agent. */
export type SupportPredicate = {
  readonly fleet: string;
  /** '<site>/<agent>' */
  readonly agent: string;
  /** The request that it answers; null: an operator made it at the machine. */
  readonly request: string | null;
  readonly time: Timestamp;
  readonly clockTrusted: boolean;
  readonly bootId: string;
  /** Version of the agent. */
  readonly version: string;
  readonly critical: readonly string[];
};

/** Subject 'report': digest of the acknowledged NDJSON blob. Signed by a receipt key of the root. */
export type ReceiptPredicate = {
  readonly fleet: string;
  readonly agent: string;
  readonly from: number;
  readonly to: number;
  /** Hash of the last acknowledged event. */
  readonly head: Digest;
  readonly time: Timestamp;
};

/** Revocation list of a channel: cumulative. */
export type Revocations = Audience & {
  readonly revoked: readonly { readonly digest: Digest; readonly reason: string; readonly at: Timestamp }[];
};

/** Values that only a site knows. Values of an agent override those of its site. */
export type SiteValues = {
  readonly fleet: string;
  readonly site: string;
  readonly values: { readonly [name: string]: unknown };
  readonly agents: { readonly [agent: string]: { readonly [name: string]: unknown } };
};
