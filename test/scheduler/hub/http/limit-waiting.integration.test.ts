import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { limitWaiting } from '../../../../scheduler/hub/http/limit-waiting.ts';

const MOST = 4;
const PATIENCE_MS = 50;

let server: Server;
let sockets: Socket[];
beforeEach(async () => {
  sockets = [];
  server = createServer((request, response) => {
    // '/long' is an answer that goes on, as the changes of the fleet do.
    if (request.url === '/long') response.write('...');
    else response.end('ok');
  });
  limitWaiting({ server }, { most: MOST, patienceMs: PATIENCE_MS });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(() => {
  for (const socket of sockets) socket.destroy();
  server.closeAllConnections();
  server.close();
});

const open = async (words = ''): Promise<Socket> => {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  sockets.push(socket);
  socket.on('error', () => {}).resume();
  await once(socket, 'connect');
  if (words === '') return socket;
  socket.write(words);
  await once(socket, 'data');
  return socket;
};
const get = (path: string): string => `GET ${path} HTTP/1.1\r\nhost: hub\r\n\r\n`;

describe('waiting connections', () => {
  it('above the limit are closed, oldest first, after their minimum time', async () => {
    const first: Socket[] = [];
    for (let at = 0; at < MOST; at++) first.push(await open());
    await sleep(2 * PATIENCE_MS);
    const closed = Promise.all(first.slice(0, 2).map((socket) => once(socket, 'close')));
    await open();
    await open();
    await closed;
    expect(first.map((socket) => socket.closed)).toEqual([true, true, false, false]);
  });

  it('younger than the minimum time are never closed', async () => {
    const many = await Promise.all(Array.from({ length: 3 * MOST }, () => open()));
    const answered = await open(get('/'));
    expect([...many, answered].filter((socket) => socket.closed)).toEqual([]);
  });

  it('with a request in progress are not closed; idle ones are, and a new connection is served', async () => {
    const long = await open(get('/long'));
    const idle = await open(get('/'));
    await sleep(2 * PATIENCE_MS);
    const closed = once(idle, 'close');
    for (let at = 0; at < MOST; at++) await open();
    await closed;
    expect([long.closed, idle.closed]).toEqual([false, true]);
    expect((await open(get('/'))).closed).toBe(false);
  });
});
