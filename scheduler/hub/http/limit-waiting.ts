import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { HubServer } from './hub-server.ts';

export type WaitingLimits = {
  /** Connections that may be open without a request under way. */
  readonly most: number;
  /** Milliseconds that a connection may take for its handshake and the head of its request, while there are more. */
  readonly patienceMs: number;
};

/** A TLS connection without a request takes about 64 KB. */
export const WAITING: WaitingLimits = { most: 200, patienceMs: 3000 };

type Waiting = { readonly socket: Socket; readonly since: number };
type Open = { readonly socket: Socket; requests: number };

/**
 * Bounds the memory of all connections that have not sent a whole request head, or are idle between requests: when a new one exceeds the
 * limit, the oldest that used up its patience is closed. A client that sends its request at once is not affected, and one whose idle
 * connection was closed connects again.
 */
export const limitWaiting = (
  { server }: Pick<HubServer, 'server'>,
  { most, patienceMs }: WaitingLimits,
): void => {
  /** Oldest first. By address and port of the client, because the socket below TLS is another object than that of a request. */
  const waiting = new Map<string, Waiting>();
  const open = new Map<string, Open>();

  const wait = (key: string, socket: Socket): void => {
    waiting.delete(key);
    waiting.set(key, { socket, since: performance.now() });
    for (const [oldest, { socket: other, since }] of waiting) {
      if (waiting.size <= most || performance.now() - since < patienceMs) return;
      waiting.delete(oldest);
      other.destroy();
    }
  };

  server.on('connection', (socket: Socket) => {
    const key = keyOf(socket);
    open.set(key, { socket, requests: 0 });
    socket.once('close', () => {
      waiting.delete(key);
      open.delete(key);
    });
    wait(key, socket);
  });
  server.on('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
    const key = keyOf(socket);
    const connection = open.get(key);
    if (!connection) return;
    waiting.delete(key);
    // The next request of a connection may come before the response to the last one is closed.
    connection.requests += 1;
    response.once('close', () => {
      connection.requests -= 1;
      if (connection.requests === 0 && open.get(key) === connection) wait(key, connection.socket);
    });
  });
};

const keyOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress}:${remotePort}`;
