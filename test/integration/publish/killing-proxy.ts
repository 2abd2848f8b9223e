import { createServer, request as forward } from 'node:http';

/** Stands before a registry and counts; `onRequest` is called with the number of each request before it is passed on. */
export type KillingProxy = AsyncDisposable & {
  /** '127.0.0.1:PORT' */
  readonly host: string;
  /** How many came since it was last set. */
  count: number;
  /** Requests as 'PUT /v2/...', since the count was last set. */
  onRequest: (count: number, line: string) => void;
};

export const startKillingProxy = async (to: string): Promise<KillingProxy> => {
  const server = createServer((incoming, answer) => {
    proxy.count += 1;
    proxy.onRequest(proxy.count, `${incoming.method} ${incoming.url}`);
    const [hostname, port] = to.split(':');
    // The registry builds the addresses of uploads from the host it was asked by.
    const outgoing = forward(
      { hostname, port, method: incoming.method, path: incoming.url, headers: incoming.headers },
      (response) => {
        answer.writeHead(response.statusCode ?? 500, response.headers);
        response.pipe(answer);
      },
    );
    outgoing.on('error', () => answer.destroy());
    incoming.on('error', () => outgoing.destroy());
    incoming.pipe(outgoing);
  });
  const listening = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', listening.resolve);
  await listening.promise;
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const proxy: KillingProxy = {
    host: `127.0.0.1:${port}`,
    count: 0,
    onRequest: () => {},
    [Symbol.asyncDispose]: async () => {
      const closed = Promise.withResolvers<void>();
      server.close(() => closed.resolve());
      server.closeAllConnections();
      await closed.promise;
    },
  };
  return proxy;
};
