import type { FastifyRequest } from 'fastify';
import { FleetError } from '#bundles/errors';
import type { Principal } from '../../people/principal.ts';
import { checkCaller } from '../../tokens/check-token.ts';
import type { Context } from '../context.ts';

/** The caller of a request, by its bearer token or by the cookie of its session. @throws FleetError TOKEN_INVALID */
export const authenticate = async (request: FastifyRequest, context: Context): Promise<Principal> => {
  const { hub, clock } = context;
  const { tokenId, ...caller } = await checkCaller(hub.store.db, bearerOf(request), clock());
  return { kind: 'token', id: tokenId, isAdmin: false, ...caller };
};

/** Bearer token in the header (RFC 6750). Not in the query, which proxies log. @throws FleetError TOKEN_INVALID */
const bearerOf = (request: FastifyRequest): string => {
  const [scheme = '', token = '', ...more] = (request.headers.authorization ?? '').split(' ');
  if (scheme.toLowerCase() === 'bearer' && more.length === 0) return token;
  throw new FleetError('TOKEN_INVALID', 'this path wants a token', {
    hint: 'Send it as "Authorization: Bearer ..."; fleet-scheduler tokens create makes one',
  });
};
