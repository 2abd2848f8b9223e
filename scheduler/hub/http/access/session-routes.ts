import type { FastifyReply, FastifyRequest } from 'fastify';
import { FleetError, isFleetError } from '#bundles/errors';
import { parseDocument } from '#bundles/json/validate';
import { formatTime, parseTime } from '#bundles/time';
import { breakGlass } from '../../people/break-glass.ts';
import { listBreakGlass, listSessions } from '../../people/list-sessions.ts';
import { endSession, findSession, type OpenSession, rotateSession } from '../../people/session.ts';
import { formatAllowance } from '../../sites/tokens/allowance.ts';
import type { PeopleContext } from '../context.ts';
import type { HubServer } from '../hub-server.ts';
import { type Access, ANYONE } from './access.ts';
import { checkOrigin } from './authenticate.ts';
import { cookieOf, dropCookie, SESSION_COOKIE, setCookie } from './cookies.ts';
import { principalOf } from './enforce-access.ts';

const ME_PATH = '/v1/me';
const SESSIONS_PATH = '/v1/sessions';
const BREAK_GLASS_PATH = '/v1/break-glass';

const PER_MINUTE = { max: 1200, timeWindow: 60_000 };
/** A code has 192 bits; this bounds the work for wrong ones. */
const CODES_PER_MINUTE = { max: 30, timeWindow: 60_000 };
const SIGNED_IN: Access = { for: 'signed in' };

/** Adds the routes about the caller's own account, and about sessions (docs/hub-api.md). */
export const sessionRoutes = (server: HubServer, context: PeopleContext): void => {
  const { hub, clock, people } = context;
  const { store } = hub;
  const forAll = { config: { rateLimit: PER_MINUTE, access: SIGNED_IN } };

  server.get(ME_PATH, forAll, async (request, reply) => {
    const { kind, id, person = null, allowances, isAdmin } = principalOf(request);
    const { session } = request;
    const now = clock();
    if (session) {
      const next = await rotateSession(store, session, now);
      if (next !== undefined) keep(reply, { row: session.row, secret: next }, now);
    }
    void reply.header('cache-control', 'no-store');
    return {
      kind,
      id,
      person,
      may: allowances.map(formatAllowance),
      admin: isAdmin,
      csrf: session?.row.csrf ?? null,
      endsAt: session?.row.ends_at ?? null,
      breakGlass: await listBreakGlass(store.db, now),
    };
  });

  server.post(`${SESSIONS_PATH}/end`, forAll, async (request, reply) => {
    const { id, person } = principalOf(request);
    if (!request.session) throw new FleetError('USAGE', 'a token has no session to end');
    await endSession(store, id, { why: 'signed out', now: clock() });
    dropCookie(reply, SESSION_COOKIE);
    request.log.info({ audit: true, session: id, person }, 'signed out');
    return { ended: true };
  });

  /** Sessions of all people for admins, and of the caller for others. A token has none. */
  const sessionsFor = async (request: FastifyRequest) => {
    const { isAdmin, id } = principalOf(request);
    const own = request.session?.row;
    if (!isAdmin && own === undefined) return [];
    const asked = { now: clock(), idleMs: people.idleMs, own: isAdmin ? undefined : own };
    const sessions = await listSessions(store.db, asked);
    return sessions.map((one) => ({ ...one, current: one.id === id }));
  };

  server.get(SESSIONS_PATH, forAll, async (request, reply) => {
    void reply.header('cache-control', 'no-store');
    return { at: formatTime(clock()), sessions: await sessionsFor(request) };
  });

  server.post(`${SESSIONS_PATH}/:session/end`, forAll, async (request) => {
    const { person, isAdmin } = principalOf(request);
    const { session } = request.params as { readonly session: string };
    if (!isAdmin && !(await sessionsFor(request)).some(({ id }) => id === session))
      throw new FleetError('ROLE_MISSING', 'this is not one of your sessions, and you may end only those', {
        hint: 'An admin of the hub ends the sessions of others',
      });
    const ended = await endSession(store, session, { why: `ended by ${person ?? ''}`, now: clock() });
    request.log.warn({ audit: true, session, person, ended }, 'session ended from the list');
    return { ended };
  });

  server.post(
    BREAK_GLASS_PATH,
    {
      config: { rateLimit: CODES_PER_MINUTE, access: ANYONE },
    },
    async (request, reply) => {
      // Another page must not put its own session into this browser.
      checkOrigin(request, context);
      const { code } = parseDocument('hub-decisions#break-glass', request.body ?? {}, 'the request');
      const now = clock();
      const opened = await breakGlass(store, code, now).catch((error: unknown) => {
        request.log.warn({ audit: true, from: request.ip }, 'break-glass code refused');
        throw error;
      });
      const { id, token, person, ends_at: until } = opened.row;
      request.log.warn(
        { audit: true, session: id, token, person, until, from: request.ip },
        'BREAK-GLASS session began',
      );
      keep(reply, opened, now);
      return { signedIn: true, until };
    },
  );
};

/** The open session of the cookie of a request, or undefined. */
export const findOpenSession = async (
  request: FastifyRequest,
  { hub, people }: Pick<PeopleContext, 'hub' | 'people'>,
  now: Date,
): Promise<string | undefined> => {
  const cookie = cookieOf(request, SESSION_COOKIE);
  if (cookie === undefined) return undefined;
  try {
    return (await findSession(hub.store, cookie, { now, idleMs: people.idleMs })).row.id;
  } catch (error) {
    if (isFleetError(error) && error.code === 'SESSION_INVALID') return undefined;
    throw error;
  }
};

export const keep = (reply: FastifyReply, { row, secret }: OpenSession, now: Date): void => {
  const seconds = Math.floor((parseTime(row.ends_at).getTime() - now.getTime()) / 1000);
  setCookie(reply, SESSION_COOKIE, secret, seconds);
};
