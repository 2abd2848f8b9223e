import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { limitConnections } from '../../../../scheduler/hub/http/limit-connections.ts';

const UNKNOWN = 4;
const OPEN = 6;
const PATIENCE_MS = 50;
const PIPELINED = 3;

let server: Server;
let sockets: Socket[];
let handled: number;

const start = async (graceMs: number): Promise<void> => {
  sockets = [];
  handled = 0;
  const connections = limitConnections({ open: OPEN, unknown: UNKNOWN, graceMs, pipelined: PIPELINED });
  server = createServer((request, response) => {
    if (!connections.admit(request, response)) return;
    handled += 1;
    if (request.headers.authorization) connections.markAuthenticated(request);
    // '/long' is an answer that goes on, as the changes of the fleet do.
    if (request.url === '/long') response.write('...');
    else response.end('ok');
  });
  connections.watch(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
};
beforeEach(() => start(PATIENCE_MS));
afterEach(() => {
  for (const socket of sockets) socket.destroy();
  server.closeAllConnections();
  server.close();
});

const open = async (words = '', localAddress = '127.0.0.1'): Promise<Socket> => {
  const { port } = server.address() as AddressInfo;
  const socket = connect({ port, host: '127.0.0.1', localAddress });
  sockets.push(socket);
  socket.on('error', () => {}).resume();
  await once(socket, 'connect');
  if (words === '') return socket;
  socket.write(words);
  await Promise.race([once(socket, 'data'), once(socket, 'close')]);
  return socket;
};
const openMany = async (many: number, words = ''): Promise<Socket[]> => {
  const made: Socket[] = [];
  for (let at = 0; at < many; at++) made.push(await open(words));
  return made;
};
const get = (path: string, headers = ''): string => `GET ${path} HTTP/1.1\r\nhost: hub\r\n${headers}\r\n`;
const KNOWN = 'authorization: yes\r\n';
const closedOf = (some: readonly Socket[]): boolean[] => some.map(({ closed }) => closed);

describe('connections without a request of a known caller', () => {
  it('above the limit are closed, oldest first, after their grace period', async () => {
    const first = await openMany(UNKNOWN);
    await sleep(2 * PATIENCE_MS);
    const closed = Promise.all(first.slice(0, 2).map((socket) => once(socket, 'close')));
    await openMany(2);
    await closed;
    expect(closedOf(first)).toEqual([true, true, false, false]);
  });

  it('that are young are kept, and newer ones of their address are closed', async () => {
    server.close();
    await start(60_000);
    const first = await openMany(UNKNOWN);
    const newer = await open();
    await once(newer, 'close');
    expect(closedOf(first)).toEqual([false, false, false, false]);
    const answers = first.map((one) => once(one, 'data'));
    for (const one of first) one.write(get('/'));
    expect(await Promise.all(answers)).toHaveLength(4);
  });

  it('of an address with many give way to those of other addresses, young ones too', async () => {
    server.close();
    await start(60_000);
    const many = await openMany(UNKNOWN);
    const closed = once(many[0] as Socket, 'close');
    const other = await open('', '127.0.0.2');
    await closed;
    other.write(get('/'));
    expect(String((await once(other, 'data'))[0])).toContain('200');
    expect(closedOf(many)).toEqual([true, false, false, false]);
  });

  it('include those that do not finish a request, and those that do not read its answer', async () => {
    const [sends] = await openMany(1, 'POST /long HTTP/1.1\r\nhost: hub\r\ncontent-length: 9\r\n\r\n');
    const [reads] = await openMany(1, get('/long'));
    const closed = Promise.all([sends, reads].map((one) => once(one as Socket, 'close')));
    await sleep(2 * PATIENCE_MS);
    await openMany(UNKNOWN);
    await closed;
  });
});

describe('a connection', () => {
  it('with a request of a known caller is not closed; an idle one is, and a new one is served', async () => {
    const long = await open(get('/long', KNOWN));
    const idle = await open(get('/', KNOWN));
    await sleep(2 * PATIENCE_MS);
    const closed = once(idle, 'close');
    await openMany(UNKNOWN);
    await closed;
    expect(closedOf([long, idle])).toEqual([false, true]);
    await sleep(2 * PATIENCE_MS);
    expect((await open(get('/'))).closed).toBe(false);
  });

  it('is closed at once where known callers have all that may be open', async () => {
    const known = await openMany(OPEN, get('/long', KNOWN));
    await once(await open(), 'close');
    expect(closedOf(known)).not.toContain(true);
  });

  it('with too many requests before the first is answered is closed, and the rest is not handled', async () => {
    const socket = await open(get('/long').repeat(1000));
    if (!socket.closed) await once(socket, 'close');
    expect(handled).toBe(PIPELINED);
  });
});
