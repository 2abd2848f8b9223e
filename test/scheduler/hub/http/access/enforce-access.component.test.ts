import fastify from 'fastify';
import { expect, test } from 'vitest';
import { enforceAccess } from '../../../../../scheduler/hub/http/access/enforce-access.ts';
import { NO_PEOPLE } from '../../../../../scheduler/hub/people/people.ts';
import type { HubServer } from '../../../../../scheduler/hub/http/hub-server.ts';
import { testServer } from '../../serve/test-server.ts';

test('a route without declared access stops the start', async () => {
  await using made = await testServer();
  const server = fastify() as unknown as HubServer;
  enforceAccess(server, { ...made.context, people: NO_PEOPLE });
  expect(() => server.get('/v1/forgotten', async () => 'all of it')).toThrow(
    'the route GET /v1/forgotten does not say who may use it',
  );
});
