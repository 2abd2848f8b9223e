import { setTimeout as sleep } from 'node:timers/promises';
import { Agent, type Dispatcher } from 'undici';
import { defined } from '#bundles/defined';
import { FleetError, isFleetError } from '#bundles/errors';
import { headerIn } from '#bundles/header-in';
import { pauseMs, type RetryPolicy, retryAfter } from '#bundles/retry';
import {
  type RequestSubject,
  failsWith,
  isAdmission,
  isForbidden,
  isTransientStatus,
  isWriteRace,
  mayBeOfObject,
  readStatus,
  toApiError,
  unreachable,
} from './api-error.ts';
import type { Status } from './status.ts';
import type { ClusterAccess, Credentials } from './cluster-access.ts';

export type Request = RequestSubject & {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly contentType?: string;
  readonly accept?: string;
  /** Status codes that the caller handles as results and not as errors, unless a policy or webhook answered with them. */
  readonly expect?: readonly number[];
  /** True if the request names no version of its object: a conflict with other writes ends with a later try. */
  readonly anyVersion?: true;
  /** User to act as (impersonation); absent: the account of the credentials. */
  readonly as?: string;
  /** Rights that the request needs, to tell a missing one from a refusal by admission. Without them a 403 counts as the former. */
  readonly rights?: readonly ResourceRight[];
};

/** `resourceAttributes` of a SelfSubjectAccessReview. */
export type ResourceRight = {
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly namespace?: string;
  readonly name?: string;
};

export type Answer = { readonly code: number; readonly body: string; readonly status: Status };

export type Sender = {
  /** Sends a request and retries transient failures. @throws FleetError API_*, FIELD_CONFLICT, ABORTED */
  readonly send: (request: Request, signal: AbortSignal) => Promise<Answer>;
  /** Sends a request once and streams the body of the response. @throws FleetError API_*, ABORTED */
  readonly open: (request: Request, signal: AbortSignal) => Promise<Dispatcher.ResponseData>;
  /** Waits until the server says that it is ready, or goes on forbidding the question. @throws FleetError API_*, ABORTED */
  readonly ready: (signal: AbortSignal) => Promise<void>;
  readonly close: () => Promise<void>;
};

export type RetryLimits = {
  /** Retry budget for an unreachable server, in milliseconds. */
  readonly patienceMs: number;
  readonly requestMs: number;
};

/** Unlimited attempts: the retry budget in milliseconds is the limit. */
const POLICY: RetryPolicy = { firstMs: 100, longestMs: 3000, jitter: 'none' };
/**
 * More than the concurrent steps and watches together (16; 12 watches of owned objects, 10 while a package settles, of which four may at
 * the same time), so that no request waits behind a watch.
 */
const CONNECTIONS = 80;
/** Size limit of a response in bytes, for the list of a large namespace. etcd limits one object to 1.5 MB. */
const MAX_BODY = 512 << 20;
/** Lifetime of cached credentials: service account tokens rotate hourly, and exec plugins have a cache of their own. */
const CREDENTIALS_MS = 60_000;
/** Shortest pause between two readings of the kubeconfig while the server cannot be reached. */
const MIN_RELOAD_MS = 5000;

/** Every account may ask it unless the cluster forbids it (ClusterRole system:public-info-viewer). */
const READY: Request = {
  method: 'GET',
  path: '/readyz',
  verb: 'get',
  what: 'its readiness',
  secret: false,
};

const REVIEW: Request = {
  method: 'POST',
  path: '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews',
  verb: 'create',
  what: 'a review of its rights',
  secret: false,
};

/** A server that starts forbids this question, too, for less than this time. */
const DENIED_MS = 2000;
/** Longest pause that a server's Retry-After causes. */
const MAX_ASKED_MS = 60_000;

/** Sends requests to one API server over a small pool of kept-alive connections. */
export const createSender = (access: ClusterAccess, { patienceMs, requestMs }: RetryLimits): Sender => {
  let session: { readonly agent: Agent; readonly tls: string } | undefined;
  let known: { readonly credentials: Credentials; readonly at: number } | undefined;
  // The kubeconfig may name another server or authority by now.
  let isDoubtful = false;
  // After the retry budget is used up, each request gets one attempt until one succeeds.
  let away = false;

  const credentials = async (fresh: boolean): Promise<Credentials> => {
    const now = performance.now();
    const anew = fresh || (isDoubtful && (!known || now - known.at > MIN_RELOAD_MS));
    if (!known || anew || now - known.at > CREDENTIALS_MS) {
      isDoubtful = false;
      known = { credentials: await access.credentials(anew), at: now };
    }
    return known.credentials;
  };

  const dispatcher = ({ tls }: Credentials): Agent => {
    const key = JSON.stringify(
      [tls.ca, tls.cert, tls.key, tls.servername, tls.rejectUnauthorized].map(String),
    );
    if (session?.tls === key) return session.agent;
    void session?.agent.close().catch(() => {});
    const agent = new Agent({
      connect: { ...tls, timeout: 10_000 },
      // When an HTTP/2 connection ends, undici throws an uncatchable error for each stream.
      allowH2: false,
      connections: CONNECTIONS,
      pipelining: 1,
      keepAliveTimeout: 30_000,
      headersTimeout: requestMs,
      bodyTimeout: requestMs,
      maxResponseSize: MAX_BODY,
    });
    session = { agent, tls: key };
    return agent;
  };

  const once = async (
    request: Request,
    fresh: boolean,
    signal: AbortSignal,
    bodyTimeout: number | undefined,
  ): Promise<Dispatcher.ResponseData> => {
    const who = await credentials(fresh);
    const { method, path, query, body, contentType, accept = 'application/json', as } = request;
    return await dispatcher(who).request(
      defined({
        origin: access.server,
        path: pathOf(access.server, path, query),
        method,
        headers: {
          ...who.headers,
          accept,
          'user-agent': 'fleet-agent',
          ...defined({
            'content-type': body !== undefined ? (contentType ?? 'application/json') : undefined,
            'impersonate-user': as,
          }),
        },
        body,
        bodyTimeout,
        signal,
        // Otherwise undici closes the connection behind each DELETE with a body.
        reset: false,
      }),
    );
  };

  /** True only if the server says so: it may be away, or not let this account ask. */
  const isReady = async (signal: AbortSignal): Promise<boolean> => {
    try {
      const { statusCode, body } = await once(READY, false, signal, undefined);
      await body.dump();
      return statusCode === 200;
    } catch {
      return false;
    }
  };

  /** Asks the server whether the account lacks one of the rights (SelfSubjectAccessReview). True if that cannot be asked. */
  const lacksAny = async ({ rights = [], as }: Request, signal: AbortSignal): Promise<boolean> => {
    for (const resourceAttributes of rights) {
      const body = JSON.stringify({
        apiVersion: 'authorization.k8s.io/v1',
        kind: 'SelfSubjectAccessReview',
        spec: { resourceAttributes },
      });
      const review = defined({ ...REVIEW, body, as });
      const response = await once(review, false, signal, undefined);
      const text = await response.body.text();
      if (response.statusCode !== 201) return true;
      if ((JSON.parse(text) as { status?: { allowed?: boolean } }).status?.allowed !== true) return true;
    }
    return rights.length === 0;
  };

  const send = async (request: Request, signal: AbortSignal): Promise<Answer> => {
    const until = performance.now() + (away ? 0 : patienceMs);
    let failures = 0;
    let renewed = false;
    let confirmed = false;
    for (;;) {
      stopIfAborted(signal);
      let answer: Answer;
      let wait: number | undefined;
      try {
        const response = await once(request, renewed, signal, undefined);
        const body = await response.body.text();
        const status = response.statusCode < 400 ? {} : readStatus(body);
        answer = { code: response.statusCode, body, status };
        wait = retryAfter(headerIn(response.headers));
      } catch (cause) {
        if (isFleetError(cause)) throw cause;
        stopIfAborted(signal);
        isDoubtful = true;
        failures += 1;
        const pause = pauseMs(POLICY, failures);
        if (performance.now() + pause > until) {
          away = true;
          throw unreachable(access.server, reasonOf(cause), cause);
        }
        await rest(pause, signal);
        continue;
      }
      const next = nextAfter(answer, request, { renewed, confirmed });
      if (next === 'accept') {
        away = false;
        return answer;
      }
      if (next === 'renew') {
        renewed = true;
        continue;
      }
      if (next === 'confirm') {
        confirmed = true;
        await ready(signal);
        continue;
      }
      failures += 1;
      const ms = Math.max(pauseMs(POLICY, failures), Math.min(wait ?? 0, MAX_ASKED_MS));
      if (next === 'refuse' || performance.now() + ms > until) throw await errorOf(answer, request, signal);
      await rest(ms, signal);
    }
  };

  /** The error for an answer that is not tried again. */
  const errorOf = async (
    { code, status }: Answer,
    request: Request,
    signal: AbortSignal,
  ): Promise<FleetError> => {
    const lacksRight = isForbidden(code, status) && (await lacksAny(request, signal));
    const error = toApiError({ code, status, lacksRight }, request, access.server);
    if (error.code !== 'API_UNREACHABLE') return error;
    if (mayBeOfObject(code, status) && (await isReady(signal))) return failsWith(code, status, request);
    away = true;
    return error;
  };

  const open = async (request: Request, signal: AbortSignal): Promise<Dispatcher.ResponseData> => {
    stopIfAborted(signal);
    try {
      // No body timeout: a watch is silent while nothing changes.
      const response = await once(request, false, signal, 0);
      if (response.statusCode < 400 || request.expect?.includes(response.statusCode)) return response;
      const status = readStatus(await response.body.text());
      throw toApiError({ code: response.statusCode, status }, request, access.server);
    } catch (cause) {
      if (isFleetError(cause)) throw cause;
      stopIfAborted(signal);
      throw unreachable(access.server, reasonOf(cause), cause);
    }
  };

  const ready = async (signal: AbortSignal): Promise<void> => {
    const request = { ...READY, expect: [403, 404] };
    const { code } = await send(request, signal);
    if (code !== 403) return;
    await rest(DENIED_MS, signal);
    await send(request, signal);
  };

  return {
    send,
    open,
    ready,
    close: async () => {
      const agent = session?.agent;
      session = undefined;
      await agent?.destroy();
    },
  };
};

/**
 * The next act after an answer. accept: the caller gets it. renew: the request is sent again with new credentials. confirm: it is sent again
 * once the server is ready, because a server that starts denies everything until it has read the roles. pause: it is sent again after a pause.
 * refuse: the caller gets an error.
 */
const nextAfter = (
  { code, status }: Answer,
  { expect, anyVersion }: Request,
  { renewed, confirmed }: { readonly renewed: boolean; readonly confirmed: boolean },
): 'accept' | 'renew' | 'confirm' | 'pause' | 'refuse' => {
  const isDenied = isAdmission(code, status);
  if (code < 400 || (expect?.includes(code) && !isDenied)) return 'accept';
  if (code === 401 && !renewed && !isDenied) return 'renew';
  if (!confirmed && isForbidden(code, status)) return 'confirm';
  const isRace = anyVersion === true && !isDenied && isWriteRace(code, status);
  return isRace || isTransientStatus(code, status) ? 'pause' : 'refuse';
};

/** A sender whose requests act as another user. */
export const actingAs = (sender: Sender, user: string): Sender => ({
  ...sender,
  send: (request, signal) => sender.send({ ...request, as: user }, signal),
  open: (request, signal) => sender.open({ ...request, as: user }, signal),
});

const pathOf = (server: string, path: string, query: Request['query']): string => {
  const prefix = new URL(server).pathname.replace(/\/+$/, '');
  const search = new URLSearchParams(query).toString();
  return `${prefix}${path}${search === '' ? '' : `?${search}`}`;
};

/** The innermost reason, such as 'ECONNREFUSED'. The other causes only repeat addresses. */
const reasonOf = (cause: unknown): string => {
  if (!(cause instanceof Error)) return String(cause);
  return 'code' in cause ? String(cause.code) : cause.message;
};

const rest = async (ms: number, signal: AbortSignal): Promise<void> => {
  await sleep(ms, undefined, { signal }).catch(() => {});
  stopIfAborted(signal);
};

/** @throws FleetError ABORTED */
export const stopIfAborted = (signal: AbortSignal): void => {
  if (signal.aborted)
    throw new FleetError('ABORTED', 'working on the cluster was stopped', { cause: signal.reason });
};
