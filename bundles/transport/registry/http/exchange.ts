import type { Dispatcher } from 'undici';
import { defined } from '../../../defined.ts';
import { FleetError } from '../../../errors.ts';
import { VERSION } from '../../../version.ts';
import type { Authorizer, TokenScope } from './authorize.ts';
import { retryAfter } from '../../../retry.ts';
import { createRetries, type Retries, type RetryBudget } from './retry-budget.ts';
import type { RegistryOptions } from '../registry.ts';
import { changedAnswer, isTransientError, refusalOf, unreachable } from './registry-error.ts';
import { type Answer, type Method, send } from './send.ts';

/** A request to a registry. */
export type Ask = {
  /** For error messages: 'reading release of registry.example/factory/prod/line'. */
  readonly doing: string;
  readonly method: Method;
  readonly url: URL;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | AsyncIterable<Uint8Array> | undefined;
  /** Statuses that the caller handles; every other one is an error. */
  readonly accept: readonly number[];
  /** Undefined for requests without authorization, such as those to a token server. */
  readonly scope?: TokenScope | undefined;
  /** True if the body can be read only once: then only the caller can retry, and it handles 401 as 'try again'. */
  readonly once?: boolean;
  readonly signal?: AbortSignal | undefined;
  /** Retry state of the operation that includes this request, whose caller reports success. Default: one of its own. */
  readonly retries?: Retries | undefined;
};

/** Sends a request with retries and returns the result of `read`. @throws FleetError REGISTRY_UNREACHABLE, _DENIED, _REFUSED, errors of `read` */
export type Exchange = <T>(ask: Ask, read: (answer: Answer) => Promise<T>) => Promise<T>;

export type ExchangeContext = {
  readonly connections: Dispatcher;
  readonly options: RegistryOptions;
  readonly retryBudget: RetryBudget;
  /** Authorization goes to this origin only. */
  readonly origin: string;
  readonly authorizer: Pick<Authorizer, 'header' | 'learn' | 'hide'>;
};

/** An answer that the caller does not accept, or a refusal for want of credentials. */
type Unwanted = { readonly answer: Answer; readonly authorization: string | undefined };

type Tried<T> = { readonly wanted: T } | Unwanted;

export const createExchange = ({
  connections,
  options,
  retryBudget,
  origin,
  authorizer,
}: ExchangeContext): Exchange => {
  const isOurs = (ask: Ask): ask is Ask & { scope: TokenScope } =>
    ask.scope !== undefined && ask.url.origin === origin;

  /** Sends a request once. `wanted` is what `read` made of an answer that the caller accepts. */
  const tryOnce = async <T>(ask: Ask, read: (answer: Answer) => Promise<T>): Promise<Tried<T>> => {
    const authorization = isOurs(ask) ? await authorizer.header(ask.scope, ask.signal) : undefined;
    const headers = { ...DEFAULT_HEADERS, ...ask.headers, ...defined({ authorization }) };
    const answer = await send(connections, { ...ask, headers }, options.plainHttp);
    const changed = changedAnswer(ask, answer);
    if (changed) {
      await discard(answer);
      throw changed;
    }
    if (!ask.accept.includes(answer.status) || answer.status === 401) return { answer, authorization };
    const wanted = await read(answer);
    if (!ask.retries) retryBudget.succeeded();
    return { wanted };
  };

  /** True if credentials were got by the challenge of an answer. */
  const learns = async (ask: Ask, { answer, authorization }: Unwanted): Promise<boolean> => {
    const challenge = answer.header('www-authenticate');
    if (answer.status !== 401 || challenge === undefined) return false;
    // The challenge of another host, to which the registry redirects, must not name where credentials go.
    if (!isOurs(ask) || answer.url.origin !== origin) return false;
    return await authorizer.learn(challenge, ask.scope, authorization);
  };

  return async <T>(ask: Ask, read: (answer: Answer) => Promise<T>): Promise<T> => {
    const { signal } = ask;
    const retries = ask.retries ?? createRetries(options, retryBudget);
    for (let hasLearned = false; ; ) {
      let tried: Tried<T>;
      try {
        tried = await tryOnce(ask, read);
      } catch (error) {
        signal?.throwIfAborted();
        if (error instanceof FleetError) throw error;
        if (!ask.once && isTransientError(error) && (await retries.wait(undefined, signal, ask.url.host)))
          continue;
        throw unreachable(ask, ask.url.host, error);
      }
      if ('wanted' in tried) return tried.wanted;
      const { answer } = tried;
      const refusal = await refusalOf(ask, answer, authorizer.hide);
      signal?.throwIfAborted();
      if (!hasLearned && (await learns(ask, tried))) {
        hasLearned = true;
        if (ask.once && ask.accept.includes(401)) return read(answer);
        continue;
      }
      if (ask.once || !refusal.retryable) throw refusal;
      if (!(await retries.wait(retryAfter(answer.header), signal, answer.host))) throw refusal;
    }
  };
};

/** Discards the body of a response, to free its connection. */
export const discard = async (answer: Answer): Promise<Answer> => {
  await answer.body.dump();
  return answer;
};

/** No content encoding, because a compressed transfer has another length than the blob. */
const DEFAULT_HEADERS = { 'user-agent': `fleet-ferry/${VERSION}`, 'accept-encoding': 'identity' } as const;
