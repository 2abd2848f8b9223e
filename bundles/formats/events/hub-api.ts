import type { Document } from '../layout/document.ts';
import type { Channel } from '../../names.ts';
import type { ReportPredicate } from '../statements/predicates.ts';

/**
 * API between an agent and its hub over TLS 1.3 (docs/hub-api.md). TLS authenticates the connection; the documents in it are signed
 * separately.
 */

/** GET: every trust root, oldest first; for an agent that knows only the SHA-256 of one. No credential. */
export const ROOTS_PATH = '/v1/roots';
/** POST EnrollRequest -> EnrollAnswer. Credential: a one-time token. */
export const ENROLL_PATH = '/v1/enroll';
/** POST CertificateRenewal -> CertificateAnswer. Credential: the client certificate to renew. */
export const CERTIFICATE_PATH = '/v1/certificate';
/** POST ReportHandover -> ReportAnswer. Credential: a client certificate. Idempotent. */
export const REPORTS_PATH = '/v1/reports';
/** POST PresenceNote -> 204. Credential: a client certificate. Sent by an agent that made no other request for PRESENCE_MS. */
export const PRESENCE_PATH = '/v1/presence';
/** POST SupportHandover -> 204. Credential: a client certificate. Idempotent. */
export const SUPPORT_PATH = '/v1/support';
/** GET the state of all agents, as JSON or text. Credential: a reader's token. */
export const STATUS_PATH = '/v1/status';
/** GET the state of all sites in one entry each. Credential: a reader's token. */
export const SITES_PATH = '/v1/sites';
/** GET how many agents of each environment complied over time. Credential: a reader's token. */
export const COMPLIANCE_PATH = '/v1/compliance';
/** GET changes, events, running versions by agent, and the comparison of two environments. Credential: a reader's token. */
export const HISTORY_PATH = '/v1/history';
export const EVENTS_PATH = '/v1/events';
export const WHERE_PATH = '/v1/where';
export const COMPARE_PATH = '/v1/compare';
/** GET the workloads with their versions in each environment. Credential: a reader's token. */
export const WORKLOADS_PATH = '/v1/workloads';
/** GET one package at one agent, the content of media, the audit log, and search results. Credential: a reader's token. */
export const PACKAGE_PATH = '/v1/package';
export const MEDIA_PATH = '/v1/media';
export const AUDIT_PATH = '/v1/audit';
/** GET the open alarms. Credential: a reader's token. */
export const ALARMS_PATH = '/v1/alarms';
export const SEARCH_PATH = '/v1/search';
/** GET server-sent events that say when the hub knows something new. Credential: a reader's token. */
export const CHANGES_PATH = '/v1/changes';

/** Interval between requests of a connected agent, plus or minus a fifth, and the time of one poll. */
export const PRESENCE_MS = 300_000;

/** How current an agent's verdicts are. Empty from older agents. `time` is the present by its clock, as in a report. */
export type PresenceNote = Partial<Pick<ReportPredicate, 'time' | 'lookedAt' | 'looks'>>;

export type RootsAnswer = {
  /** root.json files, base64. */
  readonly roots: readonly string[];
};

export type EnrollRequest = {
  readonly token: string;
  /** The same document that a medium carries to the office (docs/schemas/request.schema.json). */
  readonly request: {
    readonly fleet: string;
    readonly site: string;
    readonly agent: string;
    readonly channel: Channel;
    readonly labels: Readonly<Record<string, string>>;
    readonly request: string;
    /** age X25519 recipient of this agent. */
    readonly recipient?: string;
    /** signRecipient: base64 of the agent key's signature over it and `at`. */
    readonly recipientSignature?: string;
    /** Of the machine: architecture, serial number. */
    readonly facts?: Readonly<Record<string, string>>;
    /** signFacts: base64 of the agent key's signature over them and `factsAt`. */
    readonly factsSignature?: string;
    readonly factsAt?: string;
    /** One-time token in clear text, as agents wrote it before there was `proof`. Refused on a medium. */
    readonly token?: string;
    /** Proof of a one-time token, by which the office takes the request without a person: signRequest. */
    readonly proof?: { readonly token: string; readonly signature: string };
    readonly at: string;
    /** signRequest: base64 of the agent key's signature over every other field. */
    readonly signature?: string;
  };
};

/** A document with its bytes in base64, for transfer without a blob store. */
export type CarriedDocument = Document & { readonly bytes: string };

export type EnrollAnswer = CertificateAnswer & {
  /** Roots and the site statement with its values, as on a medium. */
  readonly documents: readonly CarriedDocument[];
};

export type CertificateRenewal = {
  /** PKCS#10, PEM. */
  readonly request: string;
  /** As in EnrollRequest; all three or none. Agents of versions without secrets were enrolled without them. */
  readonly recipient?: string;
  readonly recipientSignature?: string;
  readonly at?: string;
};

export type CertificateAnswer = {
  /** PEM: the agent's certificate. */
  readonly certificate: string;
  /** PEM: the certificate of the issuing authority; also in the root's x-fleet. */
  readonly authority: string;
};

export type ReportHandover = {
  /** The signed statement about the events: a sigstore bundle, as on a medium. */
  readonly statement: object;
  /** NDJSON, exactly as signed. */
  readonly events: string;
};

export type SupportHandover = {
  /** The tar of the support bundle, as on a medium, in Base64. */
  readonly bundle: string;
};

export type ReportAnswer = {
  /** Signed receipts for this agent, newest last: sigstore bundles. */
  readonly receipts: readonly object[];
};

/** Body of every refusal; `message` is a sentence for the operator. */
export type HubError = { readonly code: string; readonly message: string; readonly hint?: string };
