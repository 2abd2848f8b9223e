import { once } from 'node:events';
import { createServer } from 'node:http';
import { FleetError, toFleetError } from '#bundles/errors';

/** Longest request: a client that sends nothing holds no connection. */
const REQUEST_MS = 10_000;
const MAX_CONNECTIONS = 16;
const MAX_PORT = 65_535;

/** '127.0.0.1:9464', '[::1]:9464', ':9464' for all addresses. */
const parseAddress = (address: string): { readonly host?: string; readonly port: number } => {
  const at = address.lastIndexOf(':');
  const host = address.slice(0, at).replace(/^\[|\]$/g, '');
  const port = Number(address.slice(at + 1));
  return host === '' ? { port } : { host, port };
};

/**
 * Answers GET /metrics, and nothing else. @param text read at each request
 * @throws FleetError CONFIG_INVALID for a malformed address; IO for one that is taken, or that this machine does not have (yet)
 */
export const serveMetrics = async (
  address: string,
  text: () => Promise<string>,
): Promise<AsyncDisposable & { readonly port: number }> => {
  const server = createServer(
    { requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS },
    (request, answer) => {
      if (request.method !== 'GET' || request.url?.split('?')[0] !== '/metrics') {
        answer.writeHead(404).end();
        return;
      }
      text().then(
        (body) =>
          answer.writeHead(200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }).end(body),
        () => answer.writeHead(500).end(),
      );
    },
  );
  server.maxConnections = MAX_CONNECTIONS;
  const { host, port } = parseAddress(address);
  try {
    server.listen(port, host);
    await once(server, 'listening');
  } catch (error) {
    throw new FleetError(
      port > MAX_PORT ? 'CONFIG_INVALID' : 'IO',
      `metrics cannot be served at ${address}: ${toFleetError(error).message}`,
      {
        hint: 'Set metricsAddress to a free port of this machine',
        cause: error,
      },
    );
  }
  // A connection that cannot be accepted, as for want of file descriptors, must not end the daemon.
  server.on('error', () => {});
  const bound = server.address();
  return {
    port: typeof bound === 'object' && bound ? bound.port : port,
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
    },
  };
};
