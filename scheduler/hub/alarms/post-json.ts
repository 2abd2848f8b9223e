import { isFleetError, toFleetError } from '#bundles/errors';
import { send } from '#bundles/transport/registry/http/send';
import { VERSION } from '#bundles/version';
import { checkScheme } from '../../load/charts/chart-places.ts';
import { type Access, type Outcome, REQUEST_MS, type Tried } from './receiver.ts';

export type Post = {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
  readonly signal: AbortSignal;
  /** Limit of the request, for tests. */
  readonly requestMs?: number;
};

/**
 * Statuses that are about this message: the receiver will answer the next one otherwise. All others but 2xx are about the receiver,
 * its address or its secret, and are tried again.
 */
const ABOUT_THE_MESSAGE: ReadonlySet<number> = new Set([400, 413, 415, 422]);

/**
 * Posts JSON and judges the status. Redirects are not followed, and the body of the answer is not read: a receiver that answers without
 * end, or not at all, costs at most `requestMs`. No message has more of the address than its host.
 */
export const postJson = async (access: Access, { url, ...post }: Post): Promise<Outcome> => {
  const answer = await request(access, { ...post, url, method: 'POST' });
  if (typeof answer !== 'number') return answer;
  if (answer >= 200 && answer < 300) return { kind: 'taken' };
  const kind = ABOUT_THE_MESSAGE.has(answer) ? 'refused' : 'unreachable';
  return { kind, message: `${url.host} answered with ${describeStatus(answer)}` };
};

/** Asks a receiver whether it takes messages, without sending one. */
export const askReceiver = async (
  access: Access,
  { url, ...ask }: Omit<Post, 'body'> & { readonly method: 'GET' | 'OPTIONS' },
): Promise<Tried> => {
  const answer = await request(access, { ...ask, url });
  if (typeof answer !== 'number') return answer;
  const message = `${url.host} answered with ${describeStatus(answer)}`;
  const takesMessages =
    (answer >= 200 && answer < 300) || (ask.method === 'OPTIONS' && WITHOUT_OPTIONS.has(answer));
  return { kind: takesMessages ? 'answers' : 'refused', message };
};

/** Answers to OPTIONS of receivers that take POST alone. */
const WITHOUT_OPTIONS: ReadonlySet<number> = new Set([400, 405, 415, 422, 501]);

const describeStatus = (status: number): string =>
  status >= 300 && status < 400 ? 'a redirect, which is not followed' : `${status}`;

type Asked = Omit<Post, 'body'> & { readonly method: 'GET' | 'OPTIONS' | 'POST'; readonly body?: Uint8Array };

/** @returns the status, or why no answer came */
const request = async (
  { connections, plainHttp }: Access,
  { url, method, headers, body, signal, requestMs = REQUEST_MS }: Asked,
): Promise<number | { readonly kind: 'unreachable'; readonly message: string }> => {
  const { host } = url;
  const limit = AbortSignal.timeout(requestMs);
  try {
    checkScheme(url, plainHttp);
    const answer = await send(
      connections(),
      {
        method,
        url,
        headers: { 'user-agent': `fleet-scheduler/${VERSION}`, ...headers },
        body,
        signal: AbortSignal.any([signal, limit]),
      },
      plainHttp,
    );
    await answer.body.dump();
    return answer.status;
  } catch (error) {
    signal.throwIfAborted();
    if (limit.aborted)
      return { kind: 'unreachable', message: `${host} did not answer within ${requestMs / 1000} s` };
    if (isFleetError(error, 'SOURCE_UNREACHABLE'))
      return { kind: 'unreachable', message: `nothing was sent to ${host}: its address has no TLS` };
    return { kind: 'unreachable', message: `${host}: ${toFleetError(error).message}` };
  }
};
