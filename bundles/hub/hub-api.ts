import type { Document } from '../layout/document.ts';
import type { Channel } from '../names.ts';

/**
 * What an agent and its hub say to each other over TLS 1.3 (docs/hub-api.md). Everything that matters is signed inside:
 * TLS keeps strangers from asking, signatures say who spoke.
 */

/** GET: every trust root, oldest first; for whoever knows only the SHA-256 of one. No credential. */
export const ROOTS_PATH = '/v1/roots';
/** POST EnrollRequest -> EnrollAnswer. A one-time token. */
export const ENROLL_PATH = '/v1/enroll';
/** POST CertificateRenewal -> CertificateAnswer. The client certificate that is to be renewed. */
export const CERTIFICATE_PATH = '/v1/certificate';
/** POST ReportHandover -> ReportAnswer. A client certificate. Doing it again is doing it once. */
export const REPORTS_PATH = '/v1/reports';
/** POST {} -> 204. A client certificate. From an agent that had no other reason to ask for PRESENCE_MS. */
export const PRESENCE_PATH = '/v1/presence';
/** GET what runs where, as JSON or text. A reader's token. */
export const STATUS_PATH = '/v1/status';

/** An agent on line is heard this often; give or take a fifth, and the time of one poll. */
export const PRESENCE_MS = 300_000;

export type RootsAnswer = {
  /** root.json files, base64. */
  readonly roots: readonly string[];
};

export type EnrollRequest = {
  readonly token: string;
  /** The same document that a stick carries to the office (docs/schemas/request.schema.json). */
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
    readonly at: string;
  };
};

/** A document with its bytes, for those that have no blob store between them. */
export type CarriedDocument = Document & { readonly bytes: string };

export type EnrollAnswer = CertificateAnswer & {
  /** Roots and the site's statement with its values: what the stick would have brought back. */
  readonly documents: readonly CarriedDocument[];
};

export type CertificateRenewal = {
  /** PKCS#10, PEM. */
  readonly request: string;
  /** As in EnrollRequest; all three or none. Agents of before there were secrets were enrolled without. */
  readonly recipient?: string;
  readonly recipientSignature?: string;
  readonly at?: string;
};

export type CertificateAnswer = {
  /** PEM: the agent's certificate. */
  readonly certificate: string;
  /** PEM: what it chains to; also in the root's x-fleet. */
  readonly authority: string;
};

export type ReportHandover = {
  /** The signed statement about the events: a sigstore bundle, as on a medium. */
  readonly statement: object;
  /** NDJSON, exactly as signed. */
  readonly events: string;
};

export type ReportAnswer = {
  /** Signed receipts for this agent, newest last: sigstore bundles. */
  readonly receipts: readonly object[];
};

/** Any refusal: the sentence that a person at the other end should read. */
export type HubError = { readonly code: string; readonly message: string; readonly hint?: string };
