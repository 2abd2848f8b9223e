import type { Kysely, Transaction } from 'kysely';
import type { Digest } from '#bundles/digest';
import type { Outcome } from '#bundles/report/event';
import type { Timestamp } from '#bundles/time';

/**
 * The hub's tables, in types that SQLite and PostgreSQL share: text, integers up to 2^53, no booleans, no JSON columns.
 * Yes and no are 1 and 0.
 */
export type Tables = {
  fleet: FleetRow;
  site: SiteRow;
  agent: AgentRow;
  agent_key: AgentKeyRow;
  report: ReportRow;
  event: EventRow;
  assignment_state: AssignmentStateRow;
  alarm: AlarmRow;
  receipt: ReceiptRow;
  token: TokenRow;
  secret_set: SecretSetRow;
};

export type Database = Kysely<Tables>;
export type Tx = Transaction<Tables>;

/** One row: whose database this is. Whoever writes touches it first, so that writers queue instead of clashing. */
export type FleetRow = { readonly name: string; readonly writes: number };

/** A site and the newest statement about it, exactly as it was signed: the layout is written from here, never back. */
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
  /** agentFolder(id): its folder on every medium. */
  readonly folder: string;
  /** SPKI PEM. */
  readonly key: string;
  readonly environment: string;
  readonly cluster_type: string;
  readonly previous_environment: string | null;
  readonly previous_cluster_type: string | null;
  /** Canonical JSON object. */
  readonly labels: string;
  /** age recipient that its secrets are sealed to; null: it never told one. */
  readonly recipient: string | null;
  /** From when on, as the agent signed it; null: unknown. */
  readonly recipient_at: Timestamp | null;
  /** How old the lease of its release may be; null: it needs none. */
  readonly freshness_seconds: number | null;
  /** +1 with every new key: an agent that lost its disk counts its events from 1 again. */
  readonly life: number;
  /** Head of the life before, where a chain that survived the change of key goes on. */
  readonly base_seq: number;
  readonly base_hash: Digest;
  /** First and last event of the unbroken chain; 0 and GENESIS before there is one. */
  readonly first_seq: number;
  readonly head_seq: number;
  readonly head_hash: Digest;
  /** Release of the last 'imported' event. */
  readonly release_version: number | null;
  readonly release_channel: string | null;
  readonly release_seq: number;
  readonly release_at: Timestamp | null;
  readonly enrolled_at: Timestamp;
  readonly revoked_at: Timestamp | null;
  /** When its last report came in, whichever way, or when it last said that it is there. */
  readonly heard_at: Timestamp | null;
  /** When it was last heard over the network; null for an agent that was never on line with its present key. */
  readonly online_at: Timestamp | null;
};

/** Every key an agent ever had, by its hint: none comes back under another name, or after it was taken away. */
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
  /** How it came: 'stick' or 'network'. */
  readonly source: string;
  readonly received_at: Timestamp;
  /** The agent's clock when it signed, and whether it trusted it. */
  readonly written_at: Timestamp;
  readonly clock_trusted: number;
  /** Channel of the newest release its events name. */
  readonly channel: string | null;
  readonly floor_root: number;
  readonly floor_site: number;
  readonly floor_release: number;
  readonly floor_lease: number;
  readonly floor_time: Timestamp;
  /** The sigstore bundle: the proof stays with the events. */
  readonly statement: string;
  /** 1: it contradicts what is stored; its events are kept apart in the alarm. */
  readonly apart: number;
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
  /** Digest of the report that brought it first. */
  readonly report: Digest;
  /** The event itself, as the agent wrote it. */
  readonly line: string;
};

/** Where one cell of the table comes from; seq 0: nothing was said yet. */
export type AssignmentStateRow = {
  readonly agent: string;
  readonly assignment: string;
  /** What runs. null: nothing, or not yet known. */
  readonly package: Digest | null;
  readonly site_values: Digest | null;
  readonly release_version: number | null;
  readonly running_seq: number;
  readonly running_at: Timestamp | null;
  readonly running_report: Digest | null;
  /** How the last step or check ended. */
  readonly outcome: Outcome | null;
  readonly outcome_type: string | null;
  readonly code: string | null;
  readonly message: string | null;
  readonly outcome_seq: number;
  readonly outcome_at: Timestamp | null;
  readonly outcome_report: Digest | null;
  /** 1: live state differs from what was applied. */
  readonly drifted: number;
  readonly drift_message: string | null;
  readonly drift_seq: number;
  readonly drift_at: Timestamp | null;
  readonly drift_report: Digest | null;
};

export type AlarmRow = {
  /** Digest of agent, code and report: the same alarm rings once. */
  readonly id: Digest;
  readonly agent: string;
  readonly code: string;
  readonly message: string;
  readonly report: Digest;
  readonly raised_at: Timestamp;
  /** Events that were kept apart, as NDJSON; of a long report those around the contradiction. */
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

/** What lets somebody in who has no certificate. The token itself is nowhere. */
export type TokenRow = {
  /** The beginning of the hash: how people name it. */
  readonly id: string;
  /** SHA-256 of the token, hex. */
  readonly hash: string;
  readonly scope: 'enroll' | 'reader';
  /** Only for enrolling: whom it is for, and on which terms. null: as the request says. */
  readonly site: string | null;
  readonly agent: string | null;
  readonly environment: string | null;
  readonly cluster_type: string | null;
  /** Canonical JSON object. */
  readonly labels: string | null;
  readonly replace_key: number;
  /** Who has it, in the words of whoever made it. */
  readonly note: string | null;
  readonly created_at: Timestamp;
  readonly expires_at: Timestamp;
  /** The one use: '<site>/<agent>' and the hint of its key. */
  readonly used_at: Timestamp | null;
  readonly used_by: string | null;
  readonly used_key: string | null;
  readonly revoked_at: Timestamp | null;
};

/** A secret set of a site, sealed: nothing here can open it. A removed one keeps its row, so that no version comes twice. */
export type SecretSetRow = {
  readonly site: string;
  readonly name: string;
  /** Counts its contents: sealed again to others, they are the same version. */
  readonly version: number;
  /** The age file and its digest, in base64; null: the set was removed. */
  readonly digest: Digest | null;
  readonly sealed: string | null;
  /** Recipients it is sealed to, canonical JSON array, sorted. */
  readonly recipients: string;
  /** Agents it is meant for, canonical JSON array, sorted; null: all of the site. */
  readonly agents: string | null;
  readonly sealed_at: Timestamp;
};
