import '@fastify/cookie';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** `__Host-`: a browser takes it only from this host itself, over TLS, for all paths. */
export const SESSION_COOKIE = '__Host-fleet-session';
export const SIGN_IN_COOKIE = '__Host-fleet-sign-in';

/** Lax, not strict: the provider leads back to the page from another site. */
const ATTRIBUTES = { path: '/', secure: true, httpOnly: true, sameSite: 'lax' } as const;

export const cookieOf = ({ cookies }: FastifyRequest, name: string): string | undefined => cookies[name];

export const setCookie = (reply: FastifyReply, name: string, value: string, seconds: number): void => {
  void reply.setCookie(name, value, { ...ATTRIBUTES, maxAge: Math.max(0, seconds) });
};

export const dropCookie = (reply: FastifyReply, name: string): void => setCookie(reply, name, '', 0);
