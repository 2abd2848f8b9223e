import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { openConnections } from '#bundles/transport/registry/http/connections';
import { receive } from '#bundles/transport/registry/http/receive';
import { startSilentServer } from '../../../../harness/neighbours/silent-server.ts';

it('a TLS connection that is still being made ends with its client, so that the program can end', async () => {
  await using server = await startSilentServer();
  const lifetime = new AbortController();
  const connections = openConnections({ plainHttp: [], env: {} }, lifetime.signal);
  const request = { origin: `https://${server.host}`, path: '/v2/', method: 'GET' as const };
  const asked = receive(connections, request, lifetime.signal);
  setTimeout(() => lifetime.abort(), 200);
  await expect(asked).rejects.toMatchObject({ name: 'AbortError' });
  await connections.destroy();
  await expect.poll(server.isLeft, { timeout: 5000 }).toBe(true);
});

it('a connection that has ended is not kept for as long as its client lives', async () => {
  await using server = await startSilentServer();
  const lifetime = new AbortController();
  const connections = openConnections({ plainHttp: [], env: {} }, lifetime.signal);
  const asked = receive(
    connections,
    { origin: `https://${server.host}`, path: '/v2/', method: 'GET' },
    undefined,
  );
  await expect.poll(server.isLeft).toBe(false);
  expect(getEventListeners(lifetime.signal, 'abort')).not.toEqual([]);
  server.hangUp();
  await expect(asked).rejects.toMatchObject({ code: 'ECONNRESET' });
  expect(getEventListeners(lifetime.signal, 'abort')).toEqual([]);
  await connections.destroy();
});
