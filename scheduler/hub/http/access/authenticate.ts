import { timingSafeEqual } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { FleetError } from '#bundles/errors';
import { personOf } from '../../people/people.ts';
import type { Principal } from '../../people/principal.ts';
import { findSession } from '../../people/session.ts';
import { checkCaller } from '../../sites/tokens/check-token.ts';
import type { PeopleContext } from '../context.ts';
import { cookieOf, SESSION_COOKIE } from './cookies.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The session of the caller; undefined for the holder of a token. */
    session?: Awaited<ReturnType<typeof findSession>>;
  }
}

/**
 * The caller of a request: by its bearer token, or else by the cookie of its session.
 * @throws FleetError TOKEN_INVALID, SESSION_INVALID; CROSS_SITE for a write with a session that the page did not send
 */
export const authenticate = async (request: FastifyRequest, context: PeopleContext): Promise<Principal> => {
  const { hub, clock, people } = context;
  const cookie = cookieOf(request, SESSION_COOKIE);
  if (cookie === undefined || request.headers.authorization !== undefined) {
    const { tokenId, ...caller } = await checkCaller(hub.store.db, bearerOf(request), clock());
    return { kind: 'token', id: tokenId, isAdmin: false, ...caller };
  }
  const found = await findSession(hub.store, cookie, { now: clock(), idleMs: people.idleMs });
  if (request.method !== 'GET') {
    checkOrigin(request, context);
    checkCsrf(request, found.row.csrf);
  }
  request.session = found;
  return personOf(found.row, people);
};

/** Bearer token in the header (RFC 6750). Not in the query, which proxies log. @throws FleetError TOKEN_INVALID */
const bearerOf = (request: FastifyRequest): string => {
  const [scheme = '', token = '', ...more] = (request.headers.authorization ?? '').split(' ');
  if (scheme.toLowerCase() === 'bearer' && more.length === 0) return token;
  throw new FleetError('TOKEN_INVALID', 'this path requires a token or a session', {
    hint: 'Send it as "Authorization: Bearer ..."; fleet-scheduler tokens create makes one',
  });
};

/** Browsers say which page a request comes from. @throws FleetError CROSS_SITE */
export const checkOrigin = ({ headers }: FastifyRequest, { people }: PeopleContext): void => {
  const { origin, host } = headers;
  const site = headers['sec-fetch-site'];
  const isOurs = origin === undefined || origin === people.origin || hostOf(origin) === host;
  if (isOurs && (site === undefined || site === 'same-origin' || site === 'none')) return;
  throw new FleetError('CROSS_SITE', 'the request comes from another page than that of this hub');
};

const hostOf = (origin: string): string | undefined =>
  URL.canParse(origin) ? new URL(origin).host : undefined;

const CSRF_HEADER = 'x-fleet-csrf';

const checkCsrf = ({ headers }: FastifyRequest, csrf: string): void => {
  const given = Buffer.from(String(headers[CSRF_HEADER] ?? ''));
  const wanted = Buffer.from(csrf);
  if (given.byteLength === wanted.byteLength && timingSafeEqual(given, wanted)) return;
  throw new FleetError('CROSS_SITE', `a write with a session has the header ${CSRF_HEADER} of GET /v1/me`);
};
