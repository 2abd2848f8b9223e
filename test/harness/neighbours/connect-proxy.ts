import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';

export type ConnectProxy = AsyncDisposable & {
  readonly url: string;
  /** What it was asked to connect to. */
  readonly asked: readonly string[];
};

/**
 * A proxy that tunnels by CONNECT (RFC 9110 section 9.3.6) and resolves names by a table of its own: to 'host:port',
 * or to a status it refuses with.
 */
export const startConnectProxy = async (
  names: Readonly<Record<string, string | number>>,
): Promise<ConnectProxy> => {
  const asked: string[] = [];
  const open = new Set<Socket>();
  const server = createServer((_request, response) => {
    response.writeHead(405).end();
  });
  server.on('connect', (request, socket: Socket) => {
    const name = request.url ?? '';
    asked.push(name);
    open.add(socket);
    socket.on('error', () => socket.destroy());
    const target = names[name] ?? 502;
    if (typeof target === 'number') {
      socket.end(`HTTP/1.1 ${target} No\r\n\r\n`);
      return;
    }
    const { hostname, port } = new URL(`http://${target}`);
    const upstream = connect(Number(port), hostname, () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      socket.pipe(upstream).pipe(socket);
    });
    open.add(upstream);
    upstream.on('error', () => socket.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    [Symbol.asyncDispose]: async () => {
      server.close();
      for (const socket of open) socket.destroy();
      await once(server, 'close');
    },
  };
};
