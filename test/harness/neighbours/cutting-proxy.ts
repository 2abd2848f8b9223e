import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export type CuttingProxy = AsyncDisposable & {
  readonly host: string;
  /** Connections it has cut so far. */
  readonly cuts: () => number;
};

/** A bad line to 'host:port': of the first `times` connections that carry `bytes` in one direction each is then cut. */
export const startCuttingProxy = async (
  target: string,
  { bytes, times }: { readonly bytes: number; readonly times: number },
): Promise<CuttingProxy> => {
  let cuts = 0;
  const open = new Set<Socket>();
  const { hostname, port } = new URL(`http://${target}`);
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    const ends = [client, upstream];
    const cut = (): void => ends.forEach((end) => end.destroy());
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(from);
      let seen = 0;
      from.on('data', (chunk: Buffer) => {
        seen += chunk.byteLength;
        if (seen > bytes && cuts < times) {
          cuts++;
          cut();
        } else if (!to.write(chunk)) {
          from.pause();
          to.once('drain', () => from.resume());
        }
      });
      from.on('error', cut);
      from.on('close', () => {
        open.delete(from);
        cut();
      });
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    cuts: () => cuts,
    [Symbol.asyncDispose]: async () => {
      server.close();
      for (const socket of open) socket.destroy();
      await once(server, 'close');
    },
  };
};
