import { setTimeout as wait } from 'node:timers/promises';
import { defined } from '#bundles/defined';
import { FleetError } from '#bundles/errors';
import { parseStrictJson } from '#bundles/json/strict-json';
import { type RetryPolicy, retry, type Sleep } from '#bundles/retry';
import { unlessAborted } from '#bundles/transport/registry/http/unless-aborted';
import { ANSWER_MS, type HubConnections, openConnections } from './connections.ts';
import type { HubTrust } from './hub-trust.ts';
import { toHubError } from './to-hub-error.ts';
import { refusalOf, waitAsked } from './refusal-of.ts';

export type HubOptions = {
  /** Environment with the proxy settings HTTPS_PROXY and NO_PROXY. */
  readonly env: NodeJS.ProcessEnv;
  /** Retry budget of one request; 1 for callers with their own retries. */
  readonly attempts?: number | undefined;
  /** Waits for milliseconds; replaced in tests of retries. */
  readonly sleep?: Sleep | undefined;
  /** Between 0 and 1. */
  readonly random?: (() => number) | undefined;
  /** Timeout in milliseconds until an answer begins, and between two chunks of it. */
  readonly patience?: number | undefined;
};

/** One hub, by its URL. Every method throws HUB_UNREACHABLE, HUB_REFUSED, TOKEN_INVALID or CERTIFICATE_INVALID. */
export type HubClient = AsyncDisposable & {
  /** 'https://hub.example:8443' */
  readonly url: string;
  /** @param maxBytes limit for the answer */
  readonly get: (path: string, maxBytes: number, signal: AbortSignal) => Promise<unknown>;
  /** @returns undefined for an answer without content */
  readonly post: (path: string, body: object, maxBytes: number, signal: AbortSignal) => Promise<unknown>;
};

const POLICY: RetryPolicy = { firstMs: 500, longestMs: 30_000, tries: 3, jitter: 'longer' };

export const openHub = (url: string, trust: HubTrust, options: HubOptions): HubClient => {
  const origin = url.replace(/\/+$/, '');
  const { patience = ANSWER_MS } = options;
  const lifetime = new AbortController();
  const connections = openConnections(origin, trust, options.env, patience, lifetime.signal);
  const { attempts = POLICY.tries, random, sleep = pause } = options;
  const policy = { ...POLICY, tries: attempts };
  const ask = (request: Request, signal: AbortSignal): Promise<unknown> =>
    retry(policy, () => tryOnce(connections, origin, { ...request, patience }, signal), {
      askedMs: waitAsked,
      random,
      sleep,
      signal,
    });
  return {
    url: origin,
    get: async (path, maxBytes, signal) => ask({ method: 'GET', path, maxBytes }, signal),
    post: async (path, body, maxBytes, signal) =>
      ask({ method: 'POST', path, maxBytes, body: JSON.stringify(body) }, signal),
    [Symbol.asyncDispose]: async () => {
      const ended = connections.destroy();
      lifetime.abort();
      await ended;
    },
  };
};

/** Ends early when the signal is aborted; the next try then throws ABORTED. */
const pause: Sleep = async (ms, signal) => {
  await wait(ms, undefined, { signal }).catch(() => {});
};

type Request = {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly maxBytes: number;
  readonly body?: string;
};

/** Slowest rate of a line over which a body still arrives in time, in bytes per millisecond. */
const MIN_BYTES_PER_MS = 1;

const tryOnce = async (
  connections: HubConnections,
  origin: string,
  { method, path, body, maxBytes, patience }: Request & { readonly patience: number },
  signal: AbortSignal,
): Promise<unknown> => {
  try {
    const asked = connections.request({
      origin,
      path,
      method,
      signal,
      headers: defined({
        accept: 'application/json',
        'content-type': body === undefined ? undefined : 'application/json',
      }),
      // undici counts from the first byte of the request, and a report takes minutes over a satellite line.
      ...(body !== undefined && {
        body,
        headersTimeout: patience + Buffer.byteLength(body) / MIN_BYTES_PER_MS,
      }),
    });
    // undici notices the signal once there is a connection.
    const answer = await unlessAborted(asked, signal);
    const what = `${method} ${origin}${path}`;
    if (answer.statusCode >= 400)
      throw refusalOf(answer.statusCode, answer.headers, await readStart(answer.body, MAX_ERROR_BYTES), what);
    const bytes = await readUpTo(answer.body, maxBytes, what);
    if (answer.statusCode === 204) return undefined;
    if (answer.statusCode === 200 || answer.statusCode === 201) return parse(bytes, maxBytes, what);
    throw refusalOf(answer.statusCode, answer.headers, bytes, what);
  } catch (cause) {
    throw toHubError(cause, origin, signal);
  }
};

/** An error of a hub is short; the page of a proxy, which is only shown as its status, may have any length. */
const MAX_ERROR_BYTES = 64 << 10;

/** Reads no further than the chunk that exceeds `maxBytes`. */
const readStart = async (body: AsyncIterable<Uint8Array>, maxBytes: number): Promise<Buffer> => {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.byteLength;
    chunks.push(chunk);
    if (size > maxBytes) break;
  }
  return Buffer.concat(chunks);
};

const readUpTo = async (body: AsyncIterable<Uint8Array>, maxBytes: number, what: string): Promise<Buffer> => {
  const bytes = await readStart(body, maxBytes);
  if (bytes.byteLength > maxBytes)
    throw new FleetError('HUB_REFUSED', `${what} answers with more than ${maxBytes} bytes`);
  return bytes;
};

const parse = (bytes: Buffer, maxBytes: number, what: string): unknown => {
  try {
    return parseStrictJson(bytes, { maxBytes }, `the answer to ${what}`);
  } catch (cause) {
    throw new FleetError('HUB_REFUSED', `${what} does not answer with JSON`, {
      cause,
      hint: 'Check that this is the address of a hub',
    });
  }
};
