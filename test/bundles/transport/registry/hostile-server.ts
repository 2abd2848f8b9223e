import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { openRegistry } from '#bundles/transport/registry/open-registry';
import type { Registry, RegistryOptions } from '#bundles/transport/registry/registry';

export type Seen = {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  /** What of the body arrived. */
  readonly body: Buffer;
};

export type HostileServer = AsyncDisposable & {
  readonly host: string;
  readonly url: string;
  readonly seen: readonly Seen[];
};

/** Answers as it likes; `nth` counts the requests from 1. */
type Behaviour = (request: Seen, response: ServerResponse, nth: number) => void | Promise<void>;

/** A real HTTP server that does what no good registry does. `early` is called before a body has arrived. */
export const startHostileServer = async (
  behave: Behaviour,
  early?: (request: IncomingMessage, nth: number) => 'handled' | undefined,
): Promise<HostileServer> => {
  const seen: Seen[] = [];
  let count = 0;
  const server = createServer((request, response) => {
    const nth = ++count;
    const chunks: Buffer[] = [];
    const note = (): Seen => {
      const { method = '', url = '', headers } = request;
      const one = { method, url, headers, body: Buffer.concat(chunks) };
      seen.push(one);
      return one;
    };
    if (early?.(request, nth) === 'handled') {
      note();
      return;
    }
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('error', () => {});
    request.on('end', () => void behave(note(), response, nth));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    host,
    url: `http://${host}`,
    seen,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
};

export type Impatient = Registry & { readonly delays: readonly number[] };

/** Our client of it, which never really waits and takes a second of silence for a hang. */
export const impatientClient = (host: string, options: Partial<RegistryOptions> = {}): Impatient => {
  const delays: number[] = [];
  const registry = openRegistry(
    { host, prefix: 'factory' },
    {
      plainHttp: [host],
      env: {},
      random: () => 0,
      patience: { connect: 1000, headers: 1000, body: 1000 },
      sleep: async (ms, signal) => {
        delays.push(ms);
        signal?.throwIfAborted();
      },
      ...options,
    },
  );
  return { ...registry, delays };
};

/** What a call throws. */
export const thrownBy = async (call: () => Promise<unknown>): Promise<unknown> => {
  try {
    await call();
  } catch (error) {
    return error;
  }
  return undefined;
};

export const readAll = async (content: AsyncIterable<Uint8Array>): Promise<Buffer> =>
  Buffer.concat(await Array.fromAsync(content));

export async function* inChunks(bytes: Uint8Array, size = 65_536): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.byteLength; at += size) yield bytes.subarray(at, at + size);
}
