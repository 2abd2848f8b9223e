import type { HubEnrollAnswer } from '../../schemas/types/hub-enroll-answer.ts';
import type { Request } from '../../schemas/types/request.ts';

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
/** GET all that the first view of the page shows. Credential: a reader's token. */
export const OVERVIEW_PATH = '/v1/overview';
/** GET whether the first steps with a hub were done. Credential: a reader's token. */
export const FIRST_STEPS_PATH = '/v1/first-steps';
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
export const NEXT_MEDIUM_PATH = '/v1/media/next';
export const AUDIT_PATH = '/v1/audit';
/** GET the open alarms. Credential: a reader's token. */
export const ALARMS_PATH = '/v1/alarms';
export const SEARCH_PATH = '/v1/search';
/** GET server-sent events that say when the hub knows something new. Credential: a reader's token. */
export const CHANGES_PATH = '/v1/changes';

/** Interval between requests of a connected agent, plus or minus a fifth, and the time of one poll. */
export const PRESENCE_MS = 300_000;

/** How current an agent's verdicts are. Empty from older agents. `time` is the present by its clock, as in a report. */
export type { HubPresence as PresenceNote } from '../../schemas/types/hub-presence.ts';
export type { HubRoots as RootsAnswer } from '../../schemas/types/hub-roots.ts';
export type { HubEnrollAnswer as EnrollAnswer } from '../../schemas/types/hub-enroll-answer.ts';
export type { HubCertificateRequest as CertificateRenewal } from '../../schemas/types/hub-certificate-request.ts';
export type { HubCertificateAnswer as CertificateAnswer } from '../../schemas/types/hub-certificate-answer.ts';
export type { HubReport as ReportHandover } from '../../schemas/types/hub-report.ts';
export type { HubReportAnswer as ReportAnswer } from '../../schemas/types/hub-report-answer.ts';
export type { HubSupport as SupportHandover } from '../../schemas/types/hub-support.ts';
/** Body of every refusal; `message` is a sentence for the operator. */
export type { HubError } from '../../schemas/types/hub-error.ts';

/** Body of the enrolment; the hub reads `request` by the schema of the document that a medium carries to the office. */
export type EnrollRequest = { readonly token: string; readonly request: Request };

/** A document with its bytes in base64, for transfer without a blob store. */
export type CarriedDocument = HubEnrollAnswer['documents'][number];
