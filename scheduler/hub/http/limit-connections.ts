import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Server as TlsServer } from 'node:https';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';

export type ConnectionLimits = {
  /** Open connections in all. */
  readonly open: number;
  /** Of these, connections without a request under way of a caller that proved who it is. */
  readonly unknown: number;
  /** Milliseconds that such a connection has for its handshake and its request before newer ones of its own address displace it. */
  readonly graceMs: number;
  /** Requests that one connection may send before the first of them is answered. */
  readonly pipelined: number;
};

/** A TLS connection takes about 65 KB, whatever it sends. */
export const CONNECTIONS: ConnectionLimits = { open: 600, unknown: 300, graceMs: 3000, pipelined: 8 };

export type Connections = {
  /** Counts the connections of a server that does not listen yet. */
  readonly watch: (server: TlsServer | Server) => void;
  /** @returns false for a request that must not be handled; its connection is closed */
  readonly admit: (request: IncomingMessage, response: ServerResponse) => boolean;
  /** The caller of this request has proved who it is. */
  readonly markAuthenticated: (request: IncomingMessage) => void;
};

type Connection = {
  readonly socket: Socket;
  readonly address: string;
  since: number;
  requests: number;
};

/**
 * Bounds the memory that all connections take together, however slowly they send or read. Connections of callers that prove who they are, by a
 * valid client certificate, token or session, are kept while a request is under way. Of the others there are at most `unknown`: a new one
 * displaces the oldest of the address with the most of them, so that no address can shut out another, and the connections of one address
 * have `graceMs` each. An agent whose connection was closed sends its request again.
 */
export const limitConnections = (limits: ConnectionLimits): Connections => {
  /** By address and port of the client, because the socket below TLS is another object than that of a request. */
  const open = new Map<string, Connection>();
  /** Oldest first. */
  const unknown = new Map<string, Connection>();

  const close = (key: string, { socket }: Connection): void => {
    unknown.delete(key);
    open.delete(key);
    socket.destroy();
  };

  const closeExcess = (newest: string): void => {
    while (unknown.size > limits.unknown || open.size > limits.open) {
      const key = chooseVictim(unknown, newest, limits.graceMs);
      const victim = unknown.get(key);
      if (!victim) return;
      close(key, victim);
    }
  };

  const countAsUnknown = (key: string, connection: Connection): void => {
    connection.since = performance.now();
    unknown.delete(key);
    unknown.set(key, connection);
    closeExcess(key);
  };

  return {
    watch: (server) => {
      server.on('connection', (socket: Socket) => {
        const key = keyOf(socket);
        const connection = { socket, address: socket.remoteAddress ?? '', since: 0, requests: 0 };
        open.set(key, connection);
        socket.once('close', () => {
          // The port may be in use again.
          if (open.get(key) !== connection) return;
          unknown.delete(key);
          open.delete(key);
        });
        countAsUnknown(key, connection);
      });
    },
    admit: ({ socket }, response) => {
      const key = keyOf(socket);
      const connection = open.get(key);
      if (!connection) return !socket.destroyed;
      if (connection.requests >= limits.pipelined) {
        close(key, connection);
        return false;
      }
      connection.requests += 1;
      if ((socket as TLSSocket).authorized) unknown.delete(key);
      // The next request of a connection may come before the response to the last one is closed.
      response.once('close', () => {
        connection.requests -= 1;
        if (connection.requests === 0 && open.get(key) === connection) countAsUnknown(key, connection);
      });
      return true;
    },
    markAuthenticated: ({ socket }) => {
      const key = keyOf(socket);
      // It may have been answered meanwhile.
      if ((open.get(key)?.requests ?? 0) > 0) unknown.delete(key);
    },
  };
};

/** @param newest the connection that exceeds the limit, which is the victim itself where all others of its address are young */
const chooseVictim = (unknown: ReadonlyMap<string, Connection>, newest: string, graceMs: number): string => {
  const counts = new Map<string, number>();
  for (const { address } of unknown.values()) counts.set(address, (counts.get(address) ?? 0) + 1);
  const own = unknown.get(newest)?.address ?? '';
  const most = Math.max(0, ...counts.values());
  const isOfMost = counts.get(own) === most;
  for (const [key, { address, since }] of unknown) {
    if (isOfMost ? address !== own : counts.get(address) !== most) continue;
    return isOfMost && performance.now() - since < graceMs ? newest : key;
  }
  return newest;
};

const keyOf = ({ remoteAddress, remotePort }: Socket): string => `${remoteAddress}:${remotePort}`;
