import type { ApiResponse, RequestOpts, SuccessResponse, WithHeaders } from '@oazapfts/runtime';
import { redirect } from 'react-router';
import { defined } from '#bundles/defined';
import { plainText } from '#bundles/errors';
import type { Problem } from '#bundles/schemas/types/hub-decisions';
import { dropToken, keepFirstChange, readCsrf, readToken } from './session.ts';

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

/** An operation of the generated client: `(options) => status({ limit: 1 }, options)`. */
export type Call<T extends ApiResponse> = (options: RequestOpts) => Promise<WithHeaders<T>>;

/** Sends a request to the hub. Rejects with Refusal; without a valid token it throws React Router's redirect to the sign-in view. */
export const ask = async <T extends ApiResponse>(
  call: Call<T>,
  signal: AbortSignal,
): Promise<SuccessResponse<T>> => {
  try {
    return await send(call, { signal });
  } catch (error) {
    if (!(error instanceof Refusal) || error.status !== 401) throw error;
    dropToken();
    throw redirect(signInAddress(error.code === 'SESSION_INVALID'));
  }
};

/** Address of the sign-in view, which leads back to this view. @param hasEnded whether it says that the session has ended */
export const signInAddress = (hasEnded: boolean): string => {
  const here = `${location.pathname}${location.search}`.replace(/^\/ui/, '');
  return `/sign-in?to=${encodeURIComponent(here)}${hasEnded ? '&fault=ended' : ''}`;
};

/** The answer, or the refusal, for views that show refusals in place. */
export const refusedOr = <T>(answer: Promise<T>): Promise<T | Refusal> =>
  answer.catch((error: unknown) => {
    if (error instanceof Refusal) return error;
    throw error;
  });

type Given<T> = { [K in keyof T]?: NonNullable<T[K]> };

/** Query parameters, without absent and empty ones. */
export const given = <T extends Readonly<Record<string, string | number | null | undefined>>>(
  query: T,
): Given<T> =>
  Object.fromEntries(
    Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== ''),
  ) as Given<T>;

type Sent = {
  readonly signal?: AbortSignal;
  readonly token?: string | null;
  /** The Idempotency-Key: a repeated decision takes effect once. */
  readonly key?: string;
};

/** One request. Rejects with Refusal. */
export const send = async <T extends ApiResponse>(
  call: Call<T>,
  { signal, token = readToken(), key }: Sent = {},
): Promise<SuccessResponse<T>> => {
  const csrf = readCsrf();
  const headers = defined({
    authorization: token === null ? undefined : `Bearer ${token}`,
    'x-fleet-csrf': token === null && csrf !== null ? csrf : undefined,
    'idempotency-key': key,
  });
  const answer = await call(defined({ headers, signal })).catch((cause: unknown) => {
    if (signal?.aborted === true) throw cause;
    throw new Refusal({ status: 0, code: 'HUB_UNREACHABLE', message: 'The hub does not answer.' });
  });
  keepFirstChange(answer.headers.get('x-fleet-change'));
  const content = shown(answer.data);
  if (answer.status < 300) return content as SuccessResponse<T>;
  // The answer for an unknown path has only `code` and `message`.
  const { code, detail, message, hint } = (content ?? {}) as Partial<Problem> & { readonly message?: string };
  throw new Refusal({
    status: answer.status,
    code: code ?? 'INTERNAL',
    message: detail ?? message ?? `The hub answered ${answer.status}.`,
    hint,
  });
};

/** Escapes characters that reorder or hide text, as on a terminal. */
const shown = (value: unknown): unknown => {
  if (typeof value === 'string') return plainText(value);
  if (Array.isArray(value)) return value.map(shown);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, shown(one)]));
};
