import type { Generated, Kysely, Transaction } from 'kysely';
import type { Digest } from '#bundles/digest';
import type { Outcome } from '#bundles/formats/events/event';
import type { Timestamp } from '#bundles/time';
import type {
  AlarmAcknowledgedRow,
  AlarmReceiverRow,
  AlarmSentRow,
  AlarmSilenceRow,
  OpenAlarmRow,
  PastAlarmRow,
} from './alarm-rows.ts';
import type { HistoryRow } from './history-row.ts';
import type { LocalEditRow } from './local-edit-row.ts';

/**
 * The hub's tables, in types that SQLite and PostgreSQL share: text, integers up to 2^53, no booleans, no JSON columns.
 * Booleans are 1 and 0.
 */
export type Tables = {
  fleet: FleetRow;
  site: SiteRow;
  agent: AgentRow;
  agent_key: AgentKeyRow;
  report: ReportRow;
  event: EventRow;
  history: HistoryRow;
  assignment_state: AssignmentStateRow;
  agent_state: AgentStateRow;
  alarm: AlarmRow;
  receipt: ReceiptRow;
  token: TokenRow;
  secret_set: SecretSetRow;
  gate_link: GateLinkRow;
  gate_check: GateCheckRow;
  follower: FollowerRow;
  follower_object: FollowerObjectRow;
  tree_commit: TreeCommitRow;
  api_request: ApiRequestRow;
  commit_status: CommitStatusRow;
  package_version: PackageVersionRow;
  medium_return: MediumReturnRow;
  medium_departure: MediumDepartureRow;
  medium_volume: MediumVolumeRow;
  open_alarm: OpenAlarmRow;
  alarm_sent: AlarmSentRow;
  alarm_receiver: AlarmReceiverRow;
  alarm_acknowledged: AlarmAcknowledgedRow;
  alarm_silence: AlarmSilenceRow;
  past_alarm: PastAlarmRow;
  session: SessionRow;
  sign_in: SignInRow;
  compliance: ComplianceRow;
  pending_change: PendingChangeRow;
  unfinished_write: UnfinishedWriteRow;
  support_request: SupportRequestRow;
  support_bundle: SupportBundleRow;
  site_values_version: SiteValuesVersionRow & {
    /** 1: retention removed documents beside it, so it does not tell what the site had at a time. */
    readonly thinned: Generated<number>;
  };
  values_proposal: ValuesProposalRow;
  site_layers: SiteLayersRow;
  layers_of: LayersOfRow;
  values_rollout: ValuesRolloutRow;
  values_unit: ValuesUnitRow;
  values_pin: ValuesPinRow;
  local_edit: LocalEditRow;
};

export type Database = Kysely<Tables>;
export type Tx = Transaction<Tables>;

/** One row with the fleet of this database. Every writer updates it first, so that writers queue instead of failing. */
export type FleetRow = {
  readonly name: string;
  readonly writes: number;
  /** The freshness policies of the platform that `serve` last read, canonical JSON; null: none was read. */
  readonly freshness: string | null;
  /** Version of the rules that wrote the history; 0: it is not complete. */
  readonly history: Generated<number>;
  /** The replica that leads, or led last, and since when; null: none ever did. */
  readonly leader: string | null;
  readonly leader_since: Timestamp | null;
  /** Incremented with every change of the leader. */
  readonly term: Generated<number>;
  /** Facts of reports received before may be gone: retention removed them; null: it removed none. */
  readonly removed_until: Timestamp | null;
  /** Digest of the newest entry that the audit log had when this hub or a command last read it; null: none. */
  readonly audit_head: Digest | null;
};

/** A site and its newest statement, exactly as signed. The layout is a copy of this row, never the other way round. */
export type SiteRow = {
  readonly name: string;
  readonly version: number;
  /** The site-values document, canonical JSON. */
  readonly site_values: string;
  /** The sigstore bundle, and the digest of its payload. */
  readonly statement: string;
  readonly payload: Digest;
  readonly issued_at: Timestamp;
  readonly expires_at: Timestamp;
};

export type AgentRow = {
  /** '<site>/<agent>' */
  readonly id: string;
  readonly site: string;
  readonly name: string;
  /** agentFolder(id): the agent's folder on every medium. */
  readonly folder: string;
  /** SPKI PEM. */
  readonly key: string;
  readonly environment: string;
  readonly cluster_type: string;
  readonly previous_environment: string | null;
  readonly previous_cluster_type: string | null;
  /** Canonical JSON object. */
  readonly labels: string;
  /** age recipient that its secrets are sealed to; null: it never reported one. */
  readonly recipient: string | null;
  /** Time in the agent's signature over the recipient; null: unknown. */
  readonly recipient_at: Timestamp | null;
  /** Maximum age of the release's lease; null: no lease needed. */
  readonly freshness_seconds: number | null;
  /** Incremented with every new key: an agent that lost its disk numbers its events from 1 again. */
  readonly life: number;
  /** Head of the previous life, from which a chain that survived the change of key continues. */
  readonly base_seq: number;
  readonly base_hash: Digest;
  /** First and last event of the unbroken chain; 0 and GENESIS if there is none. */
  readonly first_seq: number;
  readonly head_seq: number;
  readonly head_hash: Digest;
  /** Release of the last 'imported' event. */
  readonly release_version: number | null;
  readonly release_channel: string | null;
  readonly release_seq: number;
  readonly release_at: Timestamp | null;
  readonly enrolled_at: Timestamp;
  /** SHA-256 of the client certificate in use, hex, since when, and of the one before; null: none was shown. */
  readonly certificate: string | null;
  readonly certificate_since: Timestamp | null;
  readonly certificate_before: string | null;
  readonly revoked_at: Timestamp | null;
  /** Time of the last report, by medium or network, or of the last presence message. */
  readonly heard_at: Timestamp | null;
  /** Time it was last heard over the network; null if it never was with its current key. */
  readonly online_at: Timestamp | null;
  /**
   * The newest time that its words describe: when it last compared live state, of its packages the one compared longest ago. Of an agent
   * that does not say when it looked: when it was last heard over the network, or wrote its newest report on a medium, by its clock
   * but not after the report's arrival. A medium that comes late, or again, does not make them younger.
   */
  readonly said_at: Timestamp | null;
  /**
   * Packages that were last compared at another time than the others: canonical JSON {at, packages: {assignment: time}}, where null is
   * never. null: all at `said_at`.
   */
  readonly looks: string | null;
  /** State of the service that looks, as it said last: 'running', 'stopped', 'none'; null: unknown. */
  readonly service: string | null;
  /** Number of its newest 'held' or 'released' event; 0: none. The other columns are of a hold that was not released. */
  readonly held_seq: number;
  readonly held_at: Timestamp | null;
  /** null: until it is released. */
  readonly held_until: Timestamp | null;
  readonly held_by: string | null;
  readonly held_reason: string | null;
  /** Number of its newest event about reboots; 0: none. */
  readonly reboot_seq: number;
  /** Canonical JSON of RebootState; null: nothing to say. */
  readonly reboot: string | null;
  /**
   * Kind of the follower that reports for a cluster without an agent; null: an agent. A follower has no key and is in no site
   * statement.
   */
  readonly follower: FollowerKind | null;
};

/** Kind of the controller whose notifications a follower sends. */
export type FollowerKind = 'flux' | 'argo-cd' | 'rancher-fleet';

/** The credential of a follower. */
export type FollowerRow = {
  /** '<site>/<name>', as in `agent`. */
  readonly agent: string;
  /** flux: the token itself, because it is the key of an HMAC. argo-cd: SHA-256 of the token, hex. */
  readonly secret: string;
  readonly since: Timestamp;
};

/** The bundle in a follower's folder at a commit of the tree's repository. */
export type TreeCommitRow = {
  readonly agent: string;
  readonly sha: string;
  readonly bundle: Digest;
  readonly seen_at: Timestamp;
};

/** The newest notification about one object of a follower: order of time, repetition and the release that it is about. */
/** Version of a package of a channel for people, by the newest release that had it when the layout was read. */
export type PackageVersionRow = {
  readonly environment: string;
  readonly cluster_type: string;
  readonly assignment: string;
  readonly package: Digest;
  readonly workspace: string | null;
  readonly workload: string | null;
  readonly version: string | null;
  /** Commit of the application. */
  readonly source_commit: string | null;
  /** Number of the channel's current release if that has the package. */
  readonly wanted_by: number | null;
};

export type FollowerObjectRow = {
  readonly agent: string;
  readonly life: number;
  /** 'Kustomization/flux-system/prod-edge-shop-web' */
  readonly object: string;
  readonly at: Timestamp;
  /** Of the notification's bytes. */
  readonly digest: Digest;
  /** The bundle that it names. */
  readonly bundle: Digest | null;
  /** Condition without text that changes each time: 'healthy', 'failed HealthCheckFailed'. */
  readonly state: string;
};

/** Every key that an agent ever had, by hint. A key is never accepted for another agent, nor after it was revoked or replaced. */
export type AgentKeyRow = {
  readonly hint: string;
  readonly agent: string;
  readonly key: string;
  readonly since: Timestamp;
  readonly ended_at: Timestamp | null;
};

export type ReportRow = {
  readonly agent: string;
  readonly life: number;
  readonly digest: Digest;
  readonly first_seq: number;
  readonly last_seq: number;
  /** How it arrived: 'stick' for a medium, 'network', or the kind of a follower, whose reports are unsigned. */
  readonly source: string;
  readonly received_at: Timestamp;
  /** The agent's clock when it signed, and whether the agent trusted it. */
  readonly written_at: Timestamp;
  readonly clock_trusted: number;
  /** Channel of the newest release that its events name. */
  readonly channel: string | null;
  readonly floor_root: number;
  readonly floor_site: number;
  readonly floor_release: number;
  readonly floor_lease: number;
  readonly floor_time: Timestamp;
  /** The signed statement, a sigstore bundle; empty for a follower. */
  readonly statement: string;
  /** 1: it contradicts the stored events, and its own are kept only in the alarm. */
  readonly apart: number;
  /** Order in which reports were stored, from 1. */
  readonly number: number;
};

export type EventRow = {
  readonly agent: string;
  readonly life: number;
  readonly seq: number;
  readonly hash: Digest;
  readonly prev: Digest;
  readonly at: Timestamp;
  readonly type: string;
  readonly assignment: string | null;
  readonly package: Digest | null;
  readonly outcome: Outcome | null;
  readonly code: string | null;
  /** Digest of the first report that contained it. */
  readonly report: Digest;
  /** The event as the agent wrote it, one JSON line. */
  readonly line: string;
  /**
   * Of a compacted event: the number of the last event that this row stands for, from `seq` on, and `hash` is the hash of that.
   * The row covers only what nothing else does, so it may be less than its line says. null: an ordinary event.
   */
  readonly last_seq: number | null;
};

/** The current state of an assignment, each cell with the event it comes from. A seq of 0 means that nothing was reported. */
export type AssignmentStateRow = {
  readonly agent: string;
  readonly assignment: string;
  /** The package that runs; null: nothing, or not yet known. */
  readonly package: Digest | null;
  readonly site_values: Digest | null;
  readonly release_version: number | null;
  readonly running_seq: number;
  readonly running_at: Timestamp | null;
  readonly running_report: Digest | null;
  /** Result of the last step or failed check. */
  readonly outcome: Outcome | null;
  readonly outcome_type: string | null;
  readonly code: string | null;
  /** The package that it is about; after a failure not the one that runs. */
  readonly outcome_package: Digest | null;
  readonly message: string | null;
  readonly outcome_seq: number;
  readonly outcome_at: Timestamp | null;
  readonly outcome_report: Digest | null;
  /** 1: the live state differs from the applied state. */
  readonly drifted: number;
  readonly drift_message: string | null;
  readonly drift_seq: number;
  readonly drift_at: Timestamp | null;
  readonly drift_report: Digest | null;
};

/**
 * The state of an agent as a whole, from the states of its assignments in its current life. An agent that never reported has no
 * row. Counts are of assignments with a package, and `failed` also of those of which none ever ran.
 */
export type AgentStateRow = {
  readonly agent: string;
  /** Last event of its newest report. */
  readonly newest_seq: number;
  /** Digest of the running packages by assignment (packagesDigest). */
  readonly packages: Digest;
  /** Numbers of assignments whose last step or check failed, whose live state drifted, and whose health is unknown. */
  readonly failed: number;
  readonly drifted: number;
  readonly unknown: number;
  /** When the last of them ran its package and passed its checks; null: not all were checked since their last change. */
  readonly checked_at: Timestamp | null;
  /** Of the newest change of any, also an end of drift; null: nothing was reported of any. */
  readonly settled_at: Timestamp | null;
};

export type AlarmRow = {
  /** Digest of agent, life, code, message and report, so that the same alarm is stored once. */
  readonly id: Digest;
  readonly agent: string;
  readonly code: string;
  readonly message: string;
  readonly report: Digest;
  readonly raised_at: Timestamp;
  /** Events of a report that was kept apart, as NDJSON; of a long report only those around the contradiction. */
  readonly events: string | null;
};

export type ReceiptRow = {
  readonly agent: string;
  readonly life: number;
  readonly to_seq: number;
  readonly head: Digest;
  /** The report that the receipt names. */
  readonly report: Digest;
  readonly receipt: string;
};

/** A token for callers without a certificate. Only its hash and a public key are stored. */
export type TokenRow = {
  /** The first digits of the hash, as a public name. */
  readonly id: string;
  /** SHA-256 of the token, hex. */
  readonly hash: string;
  /** For 'enroll': public key in PEM of the key that the token stands for (tokenKey). null: of a version without proofs. */
  readonly proof_key: string | null;
  readonly scope: 'enroll' | 'reader' | 'decide' | 'break-glass';
  /** Only for 'enroll': the agent it is for, and its terms. null: as in the request. */
  readonly site: string | null;
  readonly agent: string | null;
  readonly environment: string | null;
  readonly cluster_type: string | null;
  /** Canonical JSON object. */
  readonly labels: string | null;
  readonly replace_key: number;
  /** For 'decide' and 'break-glass': the person. */
  readonly person: string | null;
  /** For 'decide' its allowances, a canonical JSON array of 'promote:qa'; for 'reader' what it may read; null: everything. */
  readonly allowances: string | null;
  /** A note by the person who created it, for example its holder; for 'break-glass' the reason. */
  readonly note: string | null;
  readonly created_at: Timestamp;
  readonly expires_at: Timestamp;
  /** Its single use: the time, '<site>/<agent>', and the hint of the agent's key. */
  readonly used_at: Timestamp | null;
  readonly used_by: string | null;
  readonly used_key: string | null;
  readonly revoked_at: Timestamp | null;
};

/** A sealed secret set of a site, which the hub cannot open. A removed set keeps its row, so that no version is reused. */
export type SecretSetRow = {
  readonly site: string;
  readonly name: string;
  /** Incremented with every new content. Sealing the same content to other recipients keeps the version. */
  readonly version: number;
  /** Digest of the age file, and the file in base64; null: the set was removed. */
  readonly digest: Digest | null;
  readonly sealed: string | null;
  /** Recipients it is sealed to, canonical JSON array, sorted. */
  readonly recipients: string;
  /** Agents it is meant for, canonical JSON array, sorted; null: all agents of the site. */
  readonly agents: string | null;
  readonly sealed_at: Timestamp;
};

/** Last verdict of `serve` about a link of the chain, for display only. */
export type GateLinkRow = {
  /** The environment that is promoted to. */
  readonly environment: string;
  readonly promoted_from: string;
  /** `mode` of the policy. */
  readonly mode: string;
  readonly state: string;
  /** null: the earlier environment has released none. */
  readonly candidate: Digest | null;
  /** Name of the first condition that is not met; null: none, or a decision holds it. */
  readonly waits_for: string | null;
  /** JSON: names of all conditions that are not met; null: stored by an older version. */
  readonly unmet: string | null;
  /** One sentence for a person; null: nothing holds it. */
  readonly why: string | null;
  /** Since when state, candidate and condition are the same. */
  readonly since: Timestamp;
};

/** A question to a webhook check of a PromotionPolicy, about one candidate, and the answer that counts. */
export type GateCheckRow = {
  /** checkId: names the link, the candidate and the check with its address and timeout. */
  readonly id: string;
  /** The environment that is promoted to. */
  readonly environment: string;
  /** Shared digest of the candidate. */
  readonly shared: Digest;
  readonly state: 'asked' | 'passed' | 'failed' | 'unreachable' | 'invalid';
  /** Answer of the check, or why it could not be asked. */
  readonly message: string;
  /** Since when the state is so: when it was asked, or when it answered. */
  readonly at: Timestamp;
  readonly tries: number;
  /** When it is asked again; null: it took the question, or has answered. */
  readonly next_at: Timestamp | null;
  /** Answers that come later do not count. */
  readonly until: Timestamp;
  /** The time in the signature of the answer that counts, in seconds; 0: it has not answered. */
  readonly signed_at: number;
};

/** A request with an idempotency key, kept until it ends so that a repetition gets the first answer. */
export type ApiRequestRow = {
  /** Id of the token, and the key that its holder chose. */
  readonly token: string;
  readonly key: string;
  /** SHA-256 of method, path and body. */
  readonly request: Digest;
  /** JSON; null: not answered yet, so the request is under way, or failed or was killed on the way. */
  readonly answer: string | null;
  /** The time of the first attempt. */
  readonly started_at: Timestamp;
  readonly ends_at: Timestamp;
};

/** The status that `serve` set last on a commit, so that each change is said once. Of commits that are released no more none is kept. */
export type CommitStatusRow = {
  readonly environment: string;
  /** As the candidate names it. */
  readonly repo: string;
  /** Full hash of the commit. */
  readonly sha: string;
  /** Shared digests of the candidates that were judged, sorted, with ',' between. */
  readonly candidates: string;
  readonly state: 'pending' | 'success' | 'failure';
  readonly set_at: Timestamp;
};

/** A medium that came back with reports, and its contents by its unsigned table of contents. */
export type MediumReturnRow = {
  /** Also of its reports. */
  readonly received_at: Timestamp;
  /** When it was filled. */
  readonly created_at: Timestamp;
  /** 'prod/press r3', and names of sites: JSON arrays, sorted. */
  readonly releases: string;
  readonly sites: string;
};

/** Contents of a medium that left the office, as somebody recorded it. For display only: it is unsigned. */
export type MediumDepartureRow = Pick<MediumReturnRow, 'created_at' | 'releases' | 'sites'> & {
  /** fillingOf. */
  readonly filling: Digest;
  readonly recorded_at: Timestamp;
  /** When one of its volumes came back; null: it did not, or it has no volume and is found by its contents. */
  readonly returned_at: Timestamp | null;
};

/** The filling that was recorded last of a volume. */
export type MediumVolumeRow = { readonly volume: string; readonly filling: Digest };

/** The session of a person at the page. Only the hash of its secret is stored. */
export type SessionRow = {
  /** Random, a public name. */
  readonly id: string;
  /** SHA-256 of the secret, hex, and of the one before. */
  readonly hash: string;
  readonly previous_hash: string | null;
  readonly rotated_at: Timestamp;
  /** CSRF token that the page sends with each write. It is not valid without the cookie. */
  readonly csrf: string;
  readonly kind: 'oidc' | 'break-glass';
  /** For 'oidc': issuer and subject of the person. */
  readonly issuer: string | null;
  readonly subject: string | null;
  readonly person: string;
  /** As the provider named them at the sign-in, a JSON array. */
  readonly groups: string;
  /** Of 'break-glass': id of the code. */
  readonly token: string | null;
  readonly created_at: Timestamp;
  /** Of the last request, to the minute. */
  readonly seen_at: Timestamp;
  readonly ends_at: Timestamp;
  /** Before its time, and why; null: it was not. */
  readonly ended_at: Timestamp | null;
  readonly ended_why: string | null;
};

/** A sign-in that began in a browser, by the hash of the secret in its cookie. It is removed when it ends. */
export type SignInRow = {
  readonly hash: string;
  /** The view that the person wanted. */
  readonly target: string;
  readonly ends_at: Timestamp;
};

/** Agents of an environment at an hour, each counted once (questions/status/count-compliance.ts). */
export type ComplianceRow = {
  /** Hours since 1970. */
  readonly hour: number;
  readonly environment: string;
  readonly complies: number;
  readonly waiting: number;
  readonly differs: number;
  readonly late: number;
  readonly silent: number;
  readonly never_reported: number;
};

/** A change of the office that is not in the audit log yet (changes/append-changes.ts). */
export type PendingChangeRow = {
  /** Gives the order. */
  readonly number: number;
  /** Canonical JSON: a ChangePredicate without fleet and critical. */
  readonly change: string;
};

/** A decision that is being written into a repository (changes/note-write.ts). */
export type UnfinishedWriteRow = {
  readonly id: string;
  readonly begun_at: string;
  /** Canonical JSON: who decides, and the changes as they are known before the write. */
  readonly changes: string;
};

/** A request for a support bundle of one agent; the site statement has it until it is answered or over. */
export type SupportRequestRow = {
  /** 16 hex digits. */
  readonly id: string;
  readonly agent: string;
  readonly person: string | null;
  readonly reason: string | null;
  readonly requested_at: Timestamp;
  readonly until_at: Timestamp;
  /** null: it waits, or is over. */
  readonly answered_at: Timestamp | null;
};

/** A verified support bundle. */
export type SupportBundleRow = {
  readonly digest: Digest;
  readonly agent: string;
  /** The request that it answers; null: an operator made it. */
  readonly request: string | null;
  /** The key that signed it, SPKI PEM: the agent's when the bundle arrived. */
  readonly key: string;
  readonly made_at: Timestamp;
  readonly received_at: Timestamp;
  /** 'stick' or 'network'. */
  readonly source: string;
  /** The tar, Base64. */
  readonly file: string;
};

/** A values document of a site, and the decision that made it. */
export type SiteValuesVersionRow = {
  readonly site: string;
  /** Of the first site statement that names it. */
  readonly version: number;
  readonly digest: Digest;
  /** The site-values document, canonical JSON. */
  readonly document: string;
  readonly at: Timestamp;
  /** null: the program, by a rule; or the document is older than this record. */
  readonly person: string | null;
  readonly reason: string | null;
};

/** A change of values that waits for review, or waited. */
export type ValuesProposalRow = {
  /** Digest of the document, which approvals name. */
  readonly id: Digest;
  /** Canonical JSON: a ProposedValues. */
  readonly document: string;
  readonly person: string;
  readonly at: Timestamp;
  readonly state: 'waiting' | 'applied' | 'rejected';
  /** Person who rejected it, or gave the last approval. */
  readonly ended_by: string | null;
  readonly ended_reason: string | null;
  readonly ended_at: Timestamp | null;
};

/** The state of the values that a site gets from layers. A site without layers, and not declared, has no row. */
export type SiteLayersRow = {
  readonly site: string;
  /** Where the repository declares it, 'base/sites.yaml:7:1'; null: it does not, and did not before. */
  readonly declared: string | null;
  /** Why it keeps the values that it has, lacks some, or differs from the repository: a JSON array of HeldReason; null: nothing of these. */
  readonly held: string | null;
  /** Since when `held` is so. */
  readonly since: Timestamp;
  /** 0: its newest statement may not be in the layout yet. */
  readonly written: number;
};

/** The newest release and statement about a bundle of a channel by whose layers values were composed. */
export type LayersOfRow = {
  /** formatChannel */
  readonly channel: string;
  readonly bundle: Digest;
  readonly release: number;
  /** When the statement was built. */
  readonly built_at: Timestamp;
};

/** A change of values that reaches sites in stages, or the record of layers that an environment has. */
export type ValuesRolloutRow = {
  /** Digest of the document. */
  readonly id: Digest;
  readonly environment: string;
  /** `values`: given by people; `layers`: composed from the repository. */
  readonly kind: 'values' | 'layers';
  /** Gives the order. */
  readonly number: number;
  readonly at: Timestamp;
  /** Canonical JSON: a ValuesRollout. */
  readonly document: string;
  readonly state: 'running' | 'complete' | 'taken-back' | 'superseded';
  /** Canonical JSON: a ValuesProgress. */
  readonly progress: string;
};

/** One place that a rollout of values changes: the values of a site, or of one of its agents. */
export type ValuesUnitRow = {
  readonly rollout: Digest;
  readonly site: string;
  /** '' for the values of the site. */
  readonly agent: string;
  /** Index of the stage that brings the change. */
  readonly stage: number;
  /** `returned` by a take-back, `withdrawn` at this site alone before its stage began. */
  readonly state: 'waiting' | 'applied' | 'returned' | 'withdrawn';
  /** Of the site statement that brought it; null: none yet. */
  readonly version: number | null;
  /** Canonical JSON: a UnitContent. */
  readonly content: string;
};

/** An environment whose sites keep their values until a person ends it. */
export type ValuesPinRow = {
  readonly environment: string;
  readonly person: string | null;
  readonly reason: string | null;
  readonly at: Timestamp;
};
