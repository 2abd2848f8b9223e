import { createAuthorizer } from './authorize.ts';
import { openConnections } from './connections.ts';
import { type Ask, type Exchange, createExchange } from './exchange.ts';
import { findCredentials } from './find-credentials.ts';
import { createChunkSize, type ChunkSize } from './chunk-size.ts';
import { createRetries, createRetryBudget, type RetryBudget } from './retry-budget.ts';
import { readBody } from './read-body.ts';
import type { RegistryOptions } from '../registry.ts';
import { isTransientError, unreachable } from './registry-error.ts';
import type { Answer } from './send.ts';
import { MAX_TOKEN_BYTES, parseTokenAnswer, type TokenRequest, tokenRequestOf } from './token-request.ts';
import { unlessAborted } from './unless-aborted.ts';
import { apiOf, isTokenServerOf, mayGoTo } from './where-to.ts';

/** A request to this registry: `path` below /v2/, or a location that the registry returned. */
export type ClientAsk = Omit<Ask, 'url'> & { readonly path: string | URL };

/** Sends authorized requests to one registry, with retries. */
export type Client = AsyncDisposable & {
  readonly host: string;
  readonly options: RegistryOptions;
  readonly retryBudget: RetryBudget;
  readonly pace: ChunkSize;
  /** Whether this registry supports cross-repository mounts, as far as known. */
  readonly mounts: { readonly work: () => boolean; readonly failed: () => void };
  readonly ask: <T>(ask: ClientAsk, read: (answer: Answer) => Promise<T>) => Promise<T>;
};

type Api = { readonly base: URL; readonly exchange: Exchange };

export const createClient = (host: string, options: RegistryOptions): Client => {
  const lifetime = new AbortController();
  const connections = openConnections(options, lifetime.signal);
  const retryBudget = createRetryBudget();
  let api: Promise<Api> | undefined;
  let mounts = true;

  const open = async (doing: string): Promise<Api> => {
    const base = await findApi(host, options, retryBudget, doing, lifetime.signal);
    const open = { connections, options, retryBudget, origin: base.origin };
    const tokens = createExchange({ ...open, authorizer: ANONYMOUS });
    const authorizer = createAuthorizer({
      find: (repository) => findCredentials(host, repository, options, lifetime.signal),
      mayAsk: (realm) => mayGoTo(base, realm, options.plainHttp),
      isOwn: (realm) => isTokenServerOf(base, realm),
      findAt: (realm, repository) => findCredentials(realm.host, repository, options, lifetime.signal),
      request: (request) => getToken(tokens, host, request, lifetime.signal),
    });
    return { base, exchange: createExchange({ ...open, authorizer }) };
  };

  return {
    host,
    options,
    retryBudget,
    pace: createChunkSize(),
    mounts: { work: () => mounts, failed: () => void (mounts = false) },
    ask: async ({ path, signal: own, ...ask }, read) => {
      const signal = eitherOf(own, options.signal);
      signal?.throwIfAborted();
      api ??= open(ask.doing).catch((error: unknown) => {
        api = undefined;
        throw error;
      });
      const { base, exchange } = await unlessAborted(api, signal);
      return exchange({ ...ask, signal, url: new URL(path, base) }, read);
    },
    [Symbol.asyncDispose]: async () => {
      lifetime.abort();
      await connections.destroy();
    },
  };
};

const eitherOf = (own: AbortSignal | undefined, every: AbortSignal | undefined): AbortSignal | undefined =>
  own && every && own !== every ? AbortSignal.any([own, every]) : (own ?? every);

const ANONYMOUS = { header: async () => undefined, learn: async () => false, hide: (text: string) => text };

const findApi = async (
  host: string,
  options: RegistryOptions,
  retryBudget: RetryBudget,
  doing: string,
  signal: AbortSignal,
): Promise<URL> => {
  const retries = createRetries(options, retryBudget);
  for (;;) {
    try {
      return await apiOf(host, options, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!isTransientError(error) || !(await retries.wait(undefined, signal, host))) {
        throw unreachable({ doing, method: 'GET' }, host, error);
      }
    }
  }
};

const getToken = (exchange: Exchange, host: string, request: TokenRequest, signal: AbortSignal) => {
  const { url } = request.realm;
  const doing = `getting a token for ${host}`;
  return exchange({ ...tokenRequestOf(request), doing, accept: [200], signal }, async (answer) =>
    parseTokenAnswer(await readBody(answer, MAX_TOKEN_BYTES, `the answer of ${url.host}`), url.host),
  );
};
