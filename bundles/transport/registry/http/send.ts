import type { Dispatcher } from 'undici';
import { FleetError } from '../../../errors.ts';
import type { Body } from './body-of.ts';
import { receive } from './receive.ts';
import { mayGoTo } from './where-to.ts';

export type Method = 'GET' | 'HEAD' | 'POST' | 'PUT' | 'PATCH' | 'DELETE' | 'OPTIONS';

export type Request = {
  readonly method: Method;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | AsyncIterable<Uint8Array> | undefined;
  readonly signal?: AbortSignal | undefined;
};

export type Answer = {
  readonly status: number;
  /** By lower-case name; several of one name joined by commas. */
  readonly header: (name: string) => string | undefined;
  readonly body: Body;
  /** The host that answered in the end. */
  readonly host: string;
  /** URL of the response, to which Location and Link are relative. */
  readonly url: URL;
};

const MAX_REDIRECTS = 5;
const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/**
 * Sends one request and, for GET and HEAD, follows redirects: registries redirect to the storage of their blobs. Authorization
 * is sent to its own origin only.
 * @throws errors of undici; FleetError REGISTRY_REFUSED for redirects that must not be followed
 */
export const send = async (
  connections: Dispatcher,
  request: Request,
  plainHttp: readonly string[],
): Promise<Answer> => {
  let { url, headers } = request;
  for (let hops = 0; ; hops++) {
    const answer = await sendOnce(connections, { ...request, url, headers });
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    const location = answer.header('location');
    if (!isRead || location === undefined || !REDIRECTS.has(answer.status)) return answer;
    await answer.body.dump();
    if (hops === MAX_REDIRECTS) throw refusedRedirect(url, `redirects more than ${MAX_REDIRECTS} times`);
    const next = URL.parse(location, url.href);
    if (!next) throw refusedRedirect(url, 'redirects to an invalid address');
    // Only the origin is named: path and query may be a signed link.
    if (!mayGoTo(url, next, plainHttp))
      throw refusedRedirect(url, `redirects to ${next.protocol}//${next.host}, which is without TLS`);
    if (next.origin !== url.origin) headers = withoutAuthorization(headers);
    url = next;
  }
};

const sendOnce = async (
  connections: Dispatcher,
  { url, method, headers, body, signal }: Request,
): Promise<Answer> => {
  const { origin } = url;
  const path = `${url.pathname}${url.search}`;
  const received = await receive(
    connections,
    {
      origin,
      path,
      method,
      headers,
      body: (body as Buffer | undefined) ?? null,
      // undici closes after each HEAD, for servers that wrongly send a body: ours are all but HEADs, and such a server only
      // spoils its own connection, which is then made anew.
      reset: false,
    },
    signal,
  );
  return {
    status: received.status,
    header: (name) => {
      const value = received.headers[name];
      return Array.isArray(value) ? value.join(', ') : value;
    },
    body: received.body,
    host: url.host,
    url,
  };
};

const withoutAuthorization = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => name.toLowerCase() !== 'authorization'));

const refusedRedirect = (url: URL, why: string): FleetError =>
  new FleetError('REGISTRY_REFUSED', `${url.host} ${why}`, {
    hint: 'It is not followed: name a registry that serves its blobs itself, or by TLS',
  });
