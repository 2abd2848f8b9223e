import { redirect } from 'react-router';
import { plainText } from '#bundles/errors';
import { dropToken, readCsrf, readToken } from './session.ts';

/** The refusal of the hub (RFC 9457), or of the network. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: number;
  readonly code: string;
  readonly hint: string | undefined;

  constructor({ status, code, message, hint }: RefusalFields) {
    super(message);
    this.status = status;
    this.code = code;
    this.hint = hint;
  }
}

type RefusalFields = {
  readonly status: number;
  readonly code: string;
  readonly message: string;
  readonly hint?: string | undefined;
};

/** Parameters of a question; undefined and empty ones are left out. */
export type Query = Readonly<Record<string, string | number | null | undefined>>;

/**
 * Asks the hub. Rejects with Refusal; without a valid token it throws the redirect to the sign-in view, which React Router follows.
 * @param T the answer, as docs/openapi.json describes it
 */
export const ask = async <T>(path: string, query: Query, signal: AbortSignal): Promise<T> => {
  const given = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === null || value === '' ? [] : [[name, String(value)] as const],
  );
  const url = given.length === 0 ? path : `${path}?${new URLSearchParams(given.map((one) => [...one]))}`;
  try {
    return await send<T>(url, { signal });
  } catch (error) {
    if (!(error instanceof Refusal) || error.status !== 401) throw error;
    dropToken();
    const here = `${location.pathname}${location.search}`.replace(/^\/ui/, '');
    const fault = error.code === 'SESSION_INVALID' ? '&fault=ended' : '';
    throw redirect(`/sign-in?to=${encodeURIComponent(here)}${fault}`);
  }
};

/** The answer, or the refusal where that is part of what a view shows. */
export const refusedOr = <T>(answer: Promise<T>): Promise<T | Refusal> =>
  answer.catch((error: unknown) => {
    if (error instanceof Refusal) return error;
    throw error;
  });

type Sent = {
  readonly signal?: AbortSignal;
  /** A decision to take; without one the hub is only asked. */
  readonly body?: object;
  readonly token?: string | null;
  /** The Idempotency-Key: a decision that is sent again with it is taken once. */
  readonly key?: string;
};

/** One request. Rejects with Refusal. */
export const send = async <T>(url: string, { signal, body, token = readToken(), key }: Sent): Promise<T> => {
  const answer = await fetch(url, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      accept: 'application/json',
      ...(token !== null && { authorization: `Bearer ${token}` }),
      ...(token === null && body !== undefined && { 'x-fleet-csrf': readCsrf() ?? '' }),
      ...(key !== undefined && { 'idempotency-key': key }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    ...(signal && { signal }),
    ...(body !== undefined && { body: JSON.stringify(body) }),
  }).catch((cause: unknown) => {
    if (signal?.aborted === true) throw cause;
    throw new Refusal({ status: 0, code: 'HUB_UNREACHABLE', message: 'The hub does not answer.' });
  });
  const content = parse(await answer.text()) as T & Partial<Problem>;
  if (answer.ok) return content;
  const { code, detail, message, hint } = content;
  throw new Refusal({
    status: answer.status,
    code: code ?? 'INTERNAL',
    message: detail ?? message ?? `The hub answered ${answer.status}.`,
    hint,
  });
};

/** Characters that reorder or hide the text beside them are shown as escapes, as on a terminal. {}: it is not JSON. */
const parse = (text: string): unknown => {
  try {
    return JSON.parse(text, (_, value: unknown) => (typeof value === 'string' ? plainText(value) : value));
  } catch {
    return {};
  }
};

/** RFC 9457, or of an unknown path only `code` and `message`. */
type Problem = {
  readonly code: string;
  readonly detail: string;
  readonly message: string;
  readonly hint: string;
};
