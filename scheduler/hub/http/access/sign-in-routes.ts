import type { FastifyReply, FastifyRequest } from 'fastify';
import { authorizationUrl, isSignInError, type OidcProvider, signedIn } from '../../people/oidc-provider.ts';
import { lifeOf } from '../../people/people.ts';
import { rulesOf } from '../../people/role.ts';
import { createSession, endSession } from '../../people/session.ts';
import { endSignIn, SIGN_IN_MS, startSignIn, targetOf } from '../../people/sign-in.ts';
import type { SignInFault } from '../../people/sign-in-faults.ts';
import type { PeopleContext } from '../context.ts';
import type { HubServer } from '../hub-server.ts';
import { PAGE_PATH } from '../page-routes.ts';
import { ANYONE } from './access.ts';
import { cookieOf, dropCookie, setCookie, SIGN_IN_COOKIE } from './cookies.ts';
import { findOpenSession, keep } from './session-routes.ts';

export const SIGN_IN_PATH = '/v1/sign-in';
export const CALLBACK_PATH = `${SIGN_IN_PATH}/callback`;
/** Each asks the provider. */
const PER_MINUTE = { max: 60, timeWindow: 60_000 };

/** Adds the sign-in of people at an OIDC provider (docs/hub-api.md): both paths answer a browser with where it goes next. */
export const signInRoutes = (server: HubServer, context: PeopleContext): void => {
  const { people } = context;
  const options = { config: { rateLimit: PER_MINUTE, access: ANYONE } };
  server.get(`${SIGN_IN_PATH}/options`, options, async (_, reply) => {
    void reply.header('cache-control', 'no-store');
    return { provider: people.oidc === undefined ? null : new URL(people.oidc.issuer).host };
  });
  const { oidc } = people;
  if (oidc === undefined) return;
  const routes = [
    [SIGN_IN_PATH, begin],
    [CALLBACK_PATH, end],
  ] as const;
  for (const [path, step] of routes)
    server.get(path, options, async (request, reply) => {
      const next = await step(request, reply, { ...context, oidc }).catch((error: unknown) =>
        refuse(request, error),
      );
      return reply.header('cache-control', 'no-store').redirect(next);
    });
};

type WithProvider = PeopleContext & { readonly oidc: OidcProvider };

/** @returns where the browser goes: to the provider */
const begin = async (
  request: FastifyRequest,
  reply: FastifyReply,
  { hub, clock, oidc, ...context }: WithProvider,
): Promise<string> => {
  const { to } = request.query as { readonly to?: unknown };
  const now = clock();
  const { secret, checks } = await startSignIn(
    hub.store,
    targetOf(typeof to === 'string' ? to : undefined),
    now,
  );
  const url = await authorizationUrl(oidc, checks, { redirectUri: redirectUri(request, context), now });
  setCookie(reply, SIGN_IN_COOKIE, secret, SIGN_IN_MS / 1000);
  return url.href;
};

/** @returns where the browser goes: to the view that the person wanted, or to the sentence that says why not */
const end = async (
  request: FastifyRequest,
  reply: FastifyReply,
  { hub, clock, oidc, people, ...context }: WithProvider,
): Promise<string> => {
  const now = clock();
  const { store } = hub;
  const started = await endSignIn(store, cookieOf(request, SIGN_IN_COOKIE), now);
  dropCookie(reply, SIGN_IN_COOKIE);
  if (!started) {
    request.log.warn(
      { audit: true, code: 'SIGN_IN_REFUSED', from: request.ip },
      'sign-in refused: it was not started here',
    );
    return leave('not-started');
  }
  const base = redirectUri(request, { people, ...context });
  const url = new URL(base);
  url.search = new URL(request.url, base).search;
  const who = await signedIn(oidc, url, started.checks, now);
  const rules = rulesOf(people.roles, who);
  if (rules.length === 0) {
    request.log.warn({ audit: true, person: who.person, from: request.ip }, 'sign-in refused: no role');
    return leave('no-role');
  }
  const before = await findOpenSession(request, { hub, people }, now);
  if (before) await endSession(store, before, { why: 'signed in anew', now });
  const opened = await store.transact((tx) =>
    createSession(tx, {
      kind: 'oidc',
      issuer: who.issuer,
      subject: who.subject,
      person: who.person,
      groups: JSON.stringify(who.groups),
      token: null,
      endsAt: new Date(now.getTime() + lifeOf(rules, people)),
      now,
    }),
  );
  const { id: session, person, issuer, subject } = opened.row;
  request.log.info({ audit: true, session, person, issuer, subject, from: request.ip }, 'signed in');
  keep(reply, opened, now);
  return `${PAGE_PATH}${started.target.slice(1)}`;
};

/** The address that the provider knows as this hub's. */
const redirectUri = (
  { headers, protocol }: FastifyRequest,
  { people }: Pick<PeopleContext, 'people'>,
): string => `${people.origin ?? `${protocol}://${headers.host ?? ''}`}${CALLBACK_PATH}`;

/** A browser is shown a sentence of the page; the log has the reason. */
const refuse = (request: FastifyRequest, error: unknown): string => {
  if (!isSignInError(error)) throw error;
  const { code, message, fault } = error;
  request.log.warn({ audit: true, code, why: message, from: request.ip }, 'sign-in refused');
  return leave(fault);
};

const leave = (fault: SignInFault): string => `${PAGE_PATH}sign-in?fault=${fault}`;
