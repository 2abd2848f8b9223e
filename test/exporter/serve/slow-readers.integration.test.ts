import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { digestOf } from '#bundles/digest';
import type { MinRate } from '../../../exporter/serve/drain-at-min-rate.ts';
import { registryHandler } from '../../../exporter/serve/registry-handler.ts';
import type { ServedRepository, ServedContent } from '../../../exporter/serve/served-content.ts';
import { startServer } from '../../../exporter/serve/start-server.ts';
import { sourceOf } from '../../agent/images/image-fixture.ts';

/** More than what systems keep for both ends of a connection. */
const BLOB = Buffer.alloc(24 << 20, 'layer');
const SMALL = Buffer.from('small');

const found: ServedRepository = {
  tags: new Map(),
  manifests: new Map(),
  blobs: new Map([BLOB, SMALL].map((bytes) => [digestOf(bytes), bytes.byteLength])),
  referrers: new Map(),
};
const served = {
  blobs: sourceOf(new Map([BLOB, SMALL].map((bytes) => [digestOf(bytes), bytes]))),
  repositories: new Map([['app', found]]),
} as unknown as ServedContent;

const cleanup: AsyncDisposableStack[] = [];
afterEach(async () => {
  for (const one of cleanup.splice(0)) await one.disposeAsync();
});

const serve = async (limits: { transfers: number; share: number; pace: MinRate }) => {
  const stack = new AsyncDisposableStack();
  cleanup.push(stack);
  const broken: unknown[] = [];
  const handler = registryHandler(served, { imagesAt: '', ...limits, onBroken: (it) => broken.push(it) });
  const listen = { host: '127.0.0.1', port: 0, loopback: true };
  const { url } = stack.use(await startServer({ listen, tls: undefined }, handler));
  const port = Number(new URL(url).port);
  const path = (bytes: Buffer): string => `/v2/app/blobs/${digestOf(bytes)}`;
  return {
    broken,
    /** Asks for the big blob and takes nothing of the answer but what a stream keeps beforehand; "readable" when it comes. */
    stick: (from: string): Socket => {
      const socket = connect({ port, host: '127.0.0.1', localAddress: from });
      stack.defer(() => {
        socket.destroy();
      });
      socket.on('error', () => {});
      socket.write(`GET ${path(BLOB)} HTTP/1.1\r\nhost: x\r\n\r\n`);
      return socket;
    },
    read: async (from: string, bytes: Buffer): Promise<Buffer> => {
      const [answer] = (await once(
        get({ port, host: '127.0.0.1', localAddress: from, path: path(bytes), agent: false }),
        'response',
      )) as [IncomingMessage];
      return Buffer.concat(await Array.fromAsync(answer as AsyncIterable<Buffer>));
    },
  };
};

const NEVER: MinRate = { bytes: 1, ms: 3_600_000 };

describe('a client that reads nothing', () => {
  it('blocks only its share of the transfers, and no other client', async () => {
    const { stick, read } = await serve({ transfers: 3, share: 2, pace: NEVER });
    const stuck = Array.from({ length: 6 }, () => stick('127.0.0.2'));
    await Promise.all(stuck.slice(0, 2).map((socket) => once(socket, 'readable')));
    expect((await read('127.0.0.3', BLOB)).equals(BLOB)).toBe(true);
    expect((await read('127.0.0.3', SMALL)).toString()).toBe('small');
  });

  it('is disconnected after its time, and its place is free', async () => {
    const { stick, read, broken } = await serve({ transfers: 1, share: 1, pace: { bytes: 1, ms: 50 } });
    const stuck = stick('127.0.0.2');
    await once(stuck, 'readable');
    expect(await read('127.0.0.2', SMALL)).toHaveLength(5);
    expect(broken).toHaveLength(1);
  });

  it('or only a little is disconnected as well, by the bytes that it reads in the interval', async () => {
    const pace = { bytes: BLOB.byteLength, ms: 60 };
    const { stick, read, broken } = await serve({ transfers: 1, share: 1, pace });
    const sipping = stick('127.0.0.2');
    await once(sipping, 'readable');
    const sips = setInterval(() => sipping.read(1024), 5);
    expect(await read('127.0.0.3', SMALL)).toHaveLength(5);
    clearInterval(sips);
    expect(broken).toHaveLength(1);
  });
});
