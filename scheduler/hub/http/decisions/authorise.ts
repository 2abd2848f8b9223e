import type { FastifyRequest } from 'fastify';
import { FleetError } from '#bundles/errors';
import { parseName } from '#bundles/names';
import { isAllowed, type Verb } from '../../tokens/allowance.ts';
import { checkDecider, checkToken, type Decider } from '../../tokens/check-token.ts';
import type { Context } from '../context.ts';
import { bearerOf } from '../read-reader.ts';

declare module 'fastify' {
  interface FastifyRequest {
    decider?: Decider;
  }
}

/** The environment in the path. @throws FleetError NAME_INVALID */
export const environmentOf = ({ params }: FastifyRequest): string =>
  parseName((params as { readonly environment?: string }).environment ?? '', 'environment');

/** Lets a token decide if it allows the verb in the environment of the path. @throws FleetError TOKEN_INVALID, TOKEN_SCOPE */
export const authorise = async (
  request: FastifyRequest,
  { hub, clock }: Context,
  verb: Verb,
): Promise<void> => {
  const decider = await checkDecider(hub.store.db, bearerOf(request, 'a token for decisions'), clock());
  checkScope(decider, verb, environmentOf(request));
  request.decider = decider;
};

/** Lets a reader's token read, or one for decisions in the environment of the path. @throws as authorise */
export const authoriseRead = async (request: FastifyRequest, { hub, clock }: Context): Promise<void> => {
  const token = bearerOf(request, 'a token for reading or for decisions');
  if (!token.startsWith('ffd_')) {
    await checkToken(hub.store.db, token, 'reader', clock());
    return;
  }
  const decider = await checkDecider(hub.store.db, token, clock());
  checkScope(decider, undefined, environmentOf(request));
};

const checkScope = ({ tokenId, allowances }: Decider, verb: Verb | undefined, environment: string): void => {
  if (isAllowed(allowances, verb, environment)) return;
  throw new FleetError(
    'TOKEN_SCOPE',
    `the token ${tokenId} does not allow ${verb === undefined ? `reading about ${environment}` : `${verb}:${environment}`}`,
    { hint: 'Ask for one that does: fleet-scheduler tokens create --allow' },
  );
};

/** The caller that `authorise` admitted. */
export const deciderOf = ({ decider }: FastifyRequest): Decider => {
  if (decider === undefined) throw new TypeError('a path for decisions was reached without a token');
  return decider;
};
