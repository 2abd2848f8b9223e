import { defined } from '#bundles/defined';
import { FleetError, isFleetError } from '#bundles/errors';
import type { HubError } from '#bundles/formats/events/hub-api';
import { headerIn } from '#bundles/header-in';
import { parseStrictJson } from '#bundles/json/strict-json';
import { retryAfter } from '#bundles/retry';
import { cutText } from '#cli/cut-text';

const MAX_WAIT_MS = 3_600_000;

/** Maps an error status to a FleetError: 408, 429 and 5xx are retryable, other refusals are not. */
export const refusalOf = (
  status: number,
  headers: Readonly<Record<string, string | string[] | undefined>>,
  bytes: Buffer,
  what: string,
): FleetError => {
  const said = readError(bytes);
  const words = said ? `${said.code}: ${said.message}` : `status ${status}`;
  if (status === 429 || status === 408 || status >= 500) {
    const asked = retryAfter(headerIn(headers)) ?? 0;
    return new FleetError('HUB_UNREACHABLE', `${what} failed at the hub: ${words}`, {
      cause: new Asked(Math.min(MAX_WAIT_MS, asked)),
    });
  }
  const hint = said?.hint === undefined ? {} : { hint: said.hint };
  const code = PASSED_ON.find((it) => it === said?.code);
  return code === undefined
    ? new FleetError('HUB_REFUSED', `the hub refused ${what}: ${words}`, hint)
    : new FleetError(code, said?.message ?? words, hint);
};

/** Codes of the hub that are passed on unchanged, with the hub's message. */
const PASSED_ON = [
  'TOKEN_INVALID',
  'CERTIFICATE_INVALID',
  'AGENT_UNKNOWN',
  'REVOKED',
  'ALREADY_ENROLLED',
  'REPORT_CHAIN',
] as const;

/** The pause in milliseconds that the hub requested by Retry-After; 0 without one. */
export const waitAsked = (error: unknown): number =>
  isFleetError(error) && error.cause instanceof Asked ? error.cause.ms : 0;

class Asked extends Error {
  readonly ms: number;
  constructor(ms: number) {
    super(`asked to wait ${ms} ms`);
    this.ms = ms;
  }
}

/** Reads an error body. The peer may be unauthenticated, so texts are truncated and used only as messages. */
const readError = (bytes: Buffer): HubError | undefined => {
  try {
    const { code, message, hint } = parseStrictJson(
      bytes,
      { maxBytes: 64 << 10 },
      'the refusal',
    ) as Partial<HubError>;
    if (typeof code !== 'string' || typeof message !== 'string') return undefined;
    return defined({
      code: code.slice(0, 64),
      message: cutText(message, 1000),
      hint: typeof hint === 'string' ? cutText(hint, 1000) : undefined,
    });
  } catch (error) {
    if (isFleetError(error) || error instanceof TypeError) return undefined;
    throw error;
  }
};
