import type { ApiResponse, RequestOpts, SuccessResponse, WithHeaders } from '@oazapfts/runtime';
import type { RequestInit } from 'undici';
import { FleetError, isFleetError } from '../../errors.ts';
import { openConnections } from '../registry/http/connections.ts';
import type { Problem } from '../../schemas/types/hub-decisions.ts';

/** How a hub is reached with a token. */
export type HubAccess = {
  /** 'https://hub.example:8443' */
  readonly url: string;
  readonly token: string;
  /** PEM certificates of authorities in addition to the system's. */
  readonly ca?: string | undefined;
  /** Environment with the proxy settings. */
  readonly env: NodeJS.ProcessEnv;
};

/** Limit of the whole request: the caller waits for it. */
const WHOLE_MS = 30_000;

/**
 * Sends one operation of the generated client: `(options) => recordMedium({ recordMedium: body }, options)`.
 * @throws FleetError HUB_UNREACHABLE, HUB_REFUSED, TOKEN_INVALID, CONFIG_INVALID
 */
export const askHub = async <T extends ApiResponse>(
  { url, token, ca, env }: HubAccess,
  operation: (options: RequestOpts) => Promise<WithHeaders<T>>,
  signal: AbortSignal,
): Promise<SuccessResponse<T>> => {
  const connections = openConnections({ plainHttp: [], env, ca });
  // The index of undici has fetch, and is large.
  const { fetch } = await import('undici');
  const send = (address: string, request: RequestInit): Promise<unknown> =>
    fetch(address, { ...request, redirect: 'error', dispatcher: connections });
  const options: RequestOpts = {
    baseUrl: url,
    headers: { authorization: `Bearer ${token}` },
    fetch: send as typeof globalThis.fetch,
    signal: AbortSignal.any([signal, AbortSignal.timeout(WHOLE_MS)]),
  };
  try {
    return answerOf(url, await operation(options));
  } catch (cause) {
    if (isFleetError(cause)) throw cause;
    throw new FleetError('HUB_UNREACHABLE', `${url} does not answer: ${innermost(cause)}`, { cause });
  } finally {
    await connections.destroy();
  }
};

/** The answer of an operation. @param by the hub, for messages @throws FleetError HUB_REFUSED, TOKEN_INVALID */
export const answerOf = <T extends ApiResponse>(
  by: string,
  { status, data }: WithHeaders<T>,
): SuccessResponse<T> => {
  if (status < 300) return data as SuccessResponse<T>;
  throw refusal(by, status, data);
};

const MAX_TEXT = 1000;

/** The peer's texts are truncated and used only as messages. */
const refusal = (url: string, status: number, data: unknown): FleetError => {
  const { code, detail, hint } = (typeof data === 'object' && data !== null ? data : {}) as Partial<Problem>;
  const why = typeof detail === 'string' ? detail.slice(0, MAX_TEXT) : `status ${status}`;
  const options = typeof hint === 'string' ? { hint: hint.slice(0, MAX_TEXT) } : {};
  if (code === 'TOKEN_INVALID') return new FleetError(code, why, options);
  return new FleetError('HUB_REFUSED', `${url} refused: ${why}`, options);
};

/** fetch wraps the error of the connection. */
const innermost = (error: unknown): string => {
  if (error instanceof AggregateError && error.errors.length > 0) return innermost(error.errors[0]);
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? innermost(error.cause) : error.message;
};
