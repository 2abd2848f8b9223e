import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import type { Digest } from '#bundles/digest';
import type { Registry } from '#bundles/transport/registry/registry';
import { readAll } from './hostile-server.ts';

/** What a request said. */
export type RawRequest = {
  readonly head: string;
  readonly path: string;
  /** Where its range begins. */
  readonly from: number;
  readonly authorization: string | undefined;
  /** Both counted from 1. */
  readonly nth: number;
  readonly connection: number;
};

export type RawServer = AsyncDisposable & {
  readonly host: string;
  readonly url: string;
  readonly seen: readonly RawRequest[];
  readonly sockets: readonly Socket[];
};

export type Identity = { readonly cert: string; readonly key: string };

/** A server that says whatever it likes, byte by byte. */
export const startRawServer = async (
  behave: (request: RawRequest, socket: Socket) => void | Promise<void>,
  identity?: Identity,
  onConnection: (socket: Socket) => void = () => {},
  address = '127.0.0.1',
): Promise<RawServer> => {
  const seen: RawRequest[] = [];
  const sockets: Socket[] = [];
  const accept = (socket: Socket): void => {
    const connection = sockets.push(socket);
    let text = '';
    socket.setNoDelay(true);
    socket.on('error', () => {});
    socket.on('data', (bytes: Buffer) => {
      text += bytes.toString('latin1');
      for (let at = text.indexOf('\r\n\r\n'); at >= 0; at = text.indexOf('\r\n\r\n')) {
        const head = text.slice(0, at);
        text = text.slice(at + 4);
        const path = head.split(' ')[1] ?? '';
        const from = Number(/^range: bytes=([0-9]+)-$/im.exec(head)?.[1] ?? 0);
        const authorization = /^authorization: (.*)$/im.exec(head)?.[1];
        const request = { head, path, from, authorization, nth: seen.length + 1, connection };
        seen.push(request);
        void behave(request, socket);
      }
    });
    onConnection(socket);
  };
  const server = identity ? createTlsServer(identity, accept) : createServer(accept);
  server.on('tlsClientError', () => {});
  server.listen(0, address);
  await once(server, 'listening');
  const host = `${address.includes(':') ? `[${address}]` : address}:${(server.address() as AddressInfo).port}`;
  return {
    host,
    url: `${identity ? 'https' : 'http'}://${host}`,
    seen,
    sockets,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
};

/** The head of a good answer that holds all from a byte on. */
export const goodHead = (total: number, from = 0, ...fields: readonly string[]): string =>
  [
    from > 0 ? 'HTTP/1.1 206 Partial Content' : 'HTTP/1.1 200 OK',
    `Content-Length: ${total - from}`,
    ...(from > 0 ? [`Content-Range: bytes ${from}-${total - 1}/${total}`] : []),
    ...fields,
    '\r\n',
  ].join('\r\n');

/** An answer that is whole. */
export const answer = (
  status: number,
  body: Uint8Array | string = '',
  ...fields: readonly string[]
): Buffer => {
  const bytes = Buffer.from(body);
  const lines = [`HTTP/1.1 ${status} x`, `content-length: ${bytes.byteLength}`, ...fields, '\r\n'];
  return Buffer.concat([Buffer.from(lines.join('\r\n')), bytes]);
};

/** All of a blob. */
export const readWhole = async (registry: Registry, digest: Digest, signal?: AbortSignal): Promise<Buffer> =>
  readAll(await registry.repository('a').blobs.open(digest, signal));

/** The other side took some, or went away; `once` would take an error for one of the test. */
export const drained = (socket: Socket): Promise<void> =>
  new Promise((resolve) => {
    const go = (): void => {
      socket.off('drain', go);
      socket.off('close', go);
      resolve();
    };
    socket.once('drain', go);
    socket.once('close', go);
  });
