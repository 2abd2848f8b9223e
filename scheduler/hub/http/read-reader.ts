import type { FastifyRequest } from 'fastify';
import { FleetError } from '#bundles/errors';
import { checkToken } from '../tokens/check-token.ts';
import type { Context } from './context.ts';

/** Bearer token in the header (RFC 6750). Not in the query, which proxies log. @throws FleetError TOKEN_INVALID */
export const bearerOf = (request: FastifyRequest, what: string): string => {
  const [scheme = '', token = '', ...more] = (request.headers.authorization ?? '').split(' ');
  if (scheme.toLowerCase() === 'bearer' && more.length === 0) return token;
  throw new FleetError('TOKEN_INVALID', `this path wants ${what}`, {
    hint: 'Send it as "Authorization: Bearer ..."; fleet-scheduler tokens create makes one',
  });
};

/** @throws FleetError TOKEN_INVALID */
export const checkReader = async (request: FastifyRequest, { hub, clock }: Context): Promise<void> => {
  await checkToken(hub.store.db, bearerOf(request, "a reader's token"), 'reader', clock());
};

/** Whether the client accepts text and not JSON. curl accepts anything and gets JSON. */
export const prefersText = (accept: string): boolean =>
  /text\/plain/.test(accept) && !/application\/json/.test(accept);
