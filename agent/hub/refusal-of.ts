import { FleetError, isFleetError } from '#bundles/errors';
import type { HubError } from '#bundles/hub/hub-api';
import { parseStrictJson } from '#bundles/strict-json';

const MAX_WAIT_S = 3600;

/** Answers that are no yes: the hub's own trouble is tried again, its no is not. */
export const refusalOf = (
  status: number,
  headers: Readonly<Record<string, string | string[] | undefined>>,
  bytes: Buffer,
  what: string,
): FleetError => {
  const said = readError(bytes);
  const words = said ? `${said.code}: ${said.message}` : `status ${status}`;
  if (status === 429 || status === 408 || status >= 500) {
    const seconds = Number(headers['retry-after']);
    const asked = Number.isFinite(seconds) ? Math.min(MAX_WAIT_S, Math.max(0, seconds)) : 0;
    return new FleetError('HUB_UNREACHABLE', `${what} failed at the hub: ${words}`, {
      cause: new Asked(asked * 1000),
    });
  }
  const hint = said?.hint === undefined ? {} : { hint: said.hint };
  const code = OURS.find((it) => it === said?.code);
  return code === undefined
    ? new FleetError('HUB_REFUSED', `the hub said no to ${what}: ${words}`, hint)
    : new FleetError(code, said?.message ?? words, hint);
};

/** A no that means here what it means there, and says enough by itself. */
const OURS = [
  'TOKEN_INVALID',
  'CERTIFICATE_INVALID',
  'AGENT_UNKNOWN',
  'REVOKED',
  'ALREADY_ENROLLED',
  'REPORT_CHAIN',
] as const;

/** How long the hub asked us to wait, in milliseconds. */
export const waitAsked = (error: FleetError): number => (error.cause instanceof Asked ? error.cause.ms : 0);

class Asked extends Error {
  readonly ms: number;
  constructor(ms: number) {
    super(`asked to wait ${ms} ms`);
    this.ms = ms;
  }
}

/** Words of a stranger, until TLS has said who it is: cut, and never more than words. */
const readError = (bytes: Buffer): HubError | undefined => {
  try {
    const { code, message, hint } = parseStrictJson(
      bytes,
      { maxBytes: 64 << 10 },
      'the refusal',
    ) as Partial<HubError>;
    if (typeof code !== 'string' || typeof message !== 'string') return undefined;
    return {
      code: code.slice(0, 64),
      message: message.slice(0, 1000),
      ...(typeof hint === 'string' ? { hint: hint.slice(0, 1000) } : {}),
    };
  } catch (error) {
    if (isFleetError(error) || error instanceof TypeError) return undefined;
    throw error;
  }
};
