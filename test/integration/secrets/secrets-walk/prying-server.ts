import { createServer } from 'node:http';

export type PryingServer = AsyncDisposable & {
  /** 'host:port' */
  readonly host: string;
  /** What it was sent as `authorization`. */
  readonly seen: ReadonlySet<string>;
};

/**
 * A registry and Git server that asks for a password, refuses, and repeats in every place of its answer what it was sent: header,
 * body, error of the distribution spec.
 */
export const startPryingServer = async (): Promise<PryingServer> => {
  const seen = new Set<string>();
  const server = createServer((request, response) => {
    const { authorization } = request.headers;
    if (authorization === undefined) {
      response.writeHead(401, { 'www-authenticate': 'Basic realm="prying"' }).end();
      return;
    }
    seen.add(authorization);
    const plain = Buffer.from(authorization.replace(/^\w+ /, ''), 'base64').toString('utf8');
    const message = `no entry for ${authorization}, which is ${plain}`;
    response
      .writeHead(403, { 'content-type': 'application/json' })
      .end(JSON.stringify({ errors: [{ code: 'DENIED', message, detail: { authorization, plain } }] }));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  return {
    host: `127.0.0.1:${port}`,
    seen,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    },
  };
};
