import { setTimeout as wait } from 'node:timers/promises';
import { FleetError } from '#bundles/errors';
import { parseStrictJson } from '#bundles/strict-json';
import { type HubConnections, openConnections } from './connections.ts';
import type { HubTrust } from './hub-trust.ts';
import { outOfReach } from './out-of-reach.ts';
import { refusalOf, waitAsked } from './refusal-of.ts';

export type HubOptions = {
  /** Where the proxy is said: HTTPS_PROXY, NO_PROXY. */
  readonly env: NodeJS.ProcessEnv;
  /** How often one request is tried before it is given up; who asks again by himself says 1. */
  readonly attempts?: number | undefined;
  /** Milliseconds; for tests of patience. */
  readonly sleep?: ((ms: number, signal?: AbortSignal) => Promise<void>) | undefined;
  /** Between 0 and 1. */
  readonly random?: (() => number) | undefined;
  /** Milliseconds until an answer begins, and between two parts of it. */
  readonly patience?: number | undefined;
};

/** One hub, by its URL. Every method throws HUB_UNREACHABLE, HUB_REFUSED, TOKEN_INVALID or CERTIFICATE_INVALID. */
export type HubClient = AsyncDisposable & {
  /** 'https://hub.example:8443' */
  readonly url: string;
  /** @param maxBytes of the answer */
  readonly get: (path: string, maxBytes: number, signal: AbortSignal) => Promise<unknown>;
  /** @returns undefined for an answer without content */
  readonly post: (path: string, body: object, maxBytes: number, signal: AbortSignal) => Promise<unknown>;
};

const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 30_000;

export const openHub = (url: string, trust: HubTrust, options: HubOptions): HubClient => {
  const origin = url.replace(/\/+$/, '');
  const connections = openConnections(origin, trust, options.env, options.patience);
  const { attempts = 3, random = Math.random, sleep = pause } = options;
  const ask = async (request: Request, signal: AbortSignal): Promise<unknown> => {
    for (let attempt = 1; ; attempt++) {
      const { error, asked } = await tryOnce(connections, origin, request, signal);
      if (error === undefined) return asked;
      if (!error.retryable || error.code === 'ABORTED' || attempt >= attempts) throw error;
      const patience = Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** (attempt - 1)) * (0.8 + 0.4 * random());
      await sleep(Math.min(LONGEST_WAIT_MS, Math.max(waitAsked(error), patience)), signal);
    }
  };
  return {
    url: origin,
    get: async (path, maxBytes, signal) => ask({ method: 'GET', path, maxBytes }, signal),
    post: async (path, body, maxBytes, signal) =>
      ask({ method: 'POST', path, maxBytes, body: JSON.stringify(body) }, signal),
    [Symbol.asyncDispose]: async () => connections.destroy(),
  };
};

const pause = async (ms: number, signal?: AbortSignal): Promise<void> => {
  await wait(ms, undefined, { signal }).catch(() => {});
};

type Request = {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly maxBytes: number;
  readonly body?: string;
};

type Tried =
  | { readonly error: FleetError; readonly asked?: undefined }
  | { readonly error?: undefined; readonly asked: unknown };

const tryOnce = async (
  connections: HubConnections,
  origin: string,
  { method, path, body, maxBytes }: Request,
  signal: AbortSignal,
): Promise<Tried> => {
  try {
    const answer = await connections.request({
      origin,
      path,
      method,
      signal,
      headers: {
        accept: 'application/json',
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body }),
    });
    const what = `${method} ${origin}${path}`;
    const bytes = await readUpTo(answer.body, maxBytes, what);
    if (answer.statusCode === 204) return { asked: undefined };
    if (answer.statusCode === 200 || answer.statusCode === 201)
      return { asked: parse(bytes, maxBytes, what) };
    return { error: refusalOf(answer.statusCode, answer.headers, bytes, what) };
  } catch (cause) {
    return { error: outOfReach(cause, origin, signal) };
  }
};

const readUpTo = async (body: AsyncIterable<Uint8Array>, maxBytes: number, what: string): Promise<Buffer> => {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.byteLength;
    if (size > maxBytes)
      throw new FleetError('HUB_REFUSED', `${what} answers with more than ${maxBytes} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
};

const parse = (bytes: Buffer, maxBytes: number, what: string): unknown => {
  try {
    return parseStrictJson(bytes, { maxBytes }, `the answer to ${what}`);
  } catch (cause) {
    throw new FleetError('HUB_REFUSED', `${what} answers with something that is no JSON`, {
      cause,
      hint: 'Is this the address of a hub?',
    });
  }
};
