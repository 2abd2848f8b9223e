import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { openConnections } from '../../../agent/hub/connections.ts';
import { startSilentServer } from '../../harness/neighbours/silent-server.ts';

it('a connection to a hub that has ended is not kept for as long as its client lives', async () => {
  await using server = await startSilentServer();
  const lifetime = new AbortController();
  const origin = `https://${server.host}`;
  const connections = openConnections(origin, { authorities: [] }, {}, 10_000, lifetime.signal);
  const asked = connections.request({ origin, path: '/', method: 'GET' });
  await expect.poll(server.isLeft).toBe(false);
  expect(getEventListeners(lifetime.signal, 'abort')).not.toEqual([]);
  server.hangUp();
  await expect(asked).rejects.toMatchObject({ code: 'ECONNRESET' });
  expect(getEventListeners(lifetime.signal, 'abort')).toEqual([]);
  await connections.destroy();
});
