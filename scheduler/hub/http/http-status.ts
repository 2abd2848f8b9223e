import { defined } from '#bundles/defined';
import { type ErrorCode, FleetError, isFleetError, toFleetError } from '#bundles/errors';
import type { HubError } from '#bundles/formats/events/hub-api';

/** An error as an HTTP response (docs/hub-api.md). `retryAfter` is in seconds. */
export type HttpRefusal = { readonly status: number; readonly body: HubError; readonly retryAfter?: number };

/** Codes with a specific status. All other errors in a request are 400. */
const STATUS: Readonly<Partial<Record<ErrorCode, number>>> = {
  TOKEN_INVALID: 401,
  CERTIFICATE_INVALID: 401,
  AGENT_UNKNOWN: 403,
  REVOKED: 403,
  WRONG_FLEET: 403,
  WRONG_SITE: 403,
  ALREADY_ENROLLED: 409,
  REPORT_CHAIN: 409,
  CHECK_REFUSED: 409,
  TOKEN_SCOPE: 403,
  ROLE_MISSING: 403,
  SESSION_INVALID: 401,
  CROSS_SITE: 403,
  SIGN_IN_REFUSED: 403,
  PROVIDER_UNREACHABLE: 503,
  GATE_CLOSED: 409,
  VALUES_CHANGED: 409,
  ENROLMENT_WAITS: 409,
  NOTHING_AWAITING: 404,
  NOT_PROMOTED: 409,
  EDIT_CONFLICT: 409,
  ALARM_MISSING: 404,
  ALARM_HANDLED: 409,
  RELEASE_MISSING: 404,
  ROLLOUT_MISSING: 404,
  IDEMPOTENCY_RUNNING: 409,
  IDEMPOTENCY_REUSED: 422,
  TOO_LARGE: 413,
  TOO_MANY: 429,
  BUSY: 503,
};

/** Errors of the hub itself. The caller can only retry, and the response reveals nothing about this machine. */
const HUB_CODES: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'INTERNAL',
  'ABORTED',
  'DISK_FULL',
  'PERMISSION',
  'IO',
  'STORE_CORRUPT',
  'STORE_NEWER',
  'DATABASE_UNREACHABLE',
  'CONFIG_INVALID',
  'KEY_MISSING',
  'KEY_FORMAT',
  // Refused by the hub's signer: the agent must not conclude that its report or request is invalid.
  'SIGNER_UNREACHABLE',
  'SIGNER_REFUSED',
  'NOT_NEWER',
]);

const RETRY_S = 5;

export const toHttpRefusal = (error: unknown): HttpRefusal => {
  const known = isFleetError(error) ? error : fromFramework(error);
  if (HUB_CODES.has(known.code)) {
    return {
      status: known.retryable ? 503 : 500,
      body: { code: known.code, message: 'the hub failed; its log has the reason' },
      retryAfter: RETRY_S,
    };
  }
  if (known.code === 'MISSING_BLOB') return missing(known);
  const status = STATUS[known.code] ?? (error as { statusCode?: number }).statusCode ?? 400;
  return defined({
    status,
    body: defined({
      code: known.code,
      message: known.message,
      hint: known.hint,
    }),
    retryAfter: status === 503 || status === 429 ? RETRY_S : undefined,
  });
};

/**
 * Codes for a resource that a request names and the hub does not have. The original message is replaced because it names a
 * directory of this machine.
 */
const missing = ({ code, subject }: FleetError): HttpRefusal => ({
  status: 404,
  body: {
    code,
    message: `the hub has no ${subject ?? 'blob of this digest'}`,
    hint: 'Name a candidate of a release in its layout',
  },
});

/** Maps errors of Fastify: bodies that are too long or of another type, malformed requests. */
const fromFramework = (error: unknown): FleetError => {
  const { statusCode, code, message } = error as { statusCode?: number; code?: string; message?: string };
  if (statusCode === 413)
    return new FleetError('TOO_LARGE', 'the request has more bytes than this path takes');
  if (statusCode === 415)
    return new FleetError('USAGE', 'this path does not take a body of this content type', {
      hint: 'Send JSON with the header content-type: application/json',
    });
  if (statusCode === 429) return new FleetError('TOO_MANY', message ?? 'too many requests from this address');
  if (statusCode !== undefined && statusCode < 500 && code?.startsWith('FST_') === true)
    return new FleetError('USAGE', message ?? 'the hub does not know this request');
  return toFleetError(error);
};

/** A problem document (RFC 9457). */
export type Problem = {
  /** Stable for each code. */
  readonly type: string;
  /** The code in words, the same for each occurrence. */
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly code: string;
  readonly hint?: string;
};

export const PROBLEM_TYPE = 'application/problem+json';

/** The refusal of people's and pipelines' routes. Agents get `body`, which older ones read. */
export const toProblem = ({ status, body: { code, message, hint } }: HttpRefusal): Problem =>
  defined({
    type: `urn:fleet-ferry:error:${code}`,
    title: `${code.slice(0, 1)}${code.slice(1).toLowerCase().replaceAll('_', ' ')}`,
    status,
    detail: message,
    code,
    hint,
  });
