import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { FleetError, toFleetError } from '#bundles/errors';
import { readGivenFile } from '#bundles/read-given-file';
import type { Listen } from './parse-listen.ts';

export type ServerOptions = {
  readonly listen: Listen;
  /** PEM files. */
  readonly tls: { readonly certificate: string; readonly key: string } | undefined;
};

export type RunningServer = AsyncDisposable & {
  /** 'http://127.0.0.1:5000' */
  readonly url: string;
};

/** Maximum number of connections, including idle ones. */
const MAX_CONNECTIONS = 512;
/** Maximum of them from one address. */
const MAX_OF_CLIENT = 128;
/** Milliseconds that running transfers get to finish when the server stops. */
const GRACE = 5000;

/** @throws FleetError USAGE for an address in use or not of this machine, CONFIG_INVALID for the certificate, PERMISSION */
export const startServer = async (
  { listen, tls }: ServerOptions,
  handler: RequestListener,
): Promise<RunningServer> => {
  const server = tls ? await tlsServer(tls, handler) : createServer(handler);
  server.maxConnections = MAX_CONNECTIONS;
  limitConnections(server, MAX_OF_CLIENT);
  server.listen(listen.port, listen.host.replace(/^\[|\]$/g, ''));
  await once(server, 'listening').catch((error: unknown) => {
    throw cannotListen(error, listen);
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `${tls ? 'https' : 'http'}://${listen.host}:${port}`,
    [Symbol.asyncDispose]: () => close(server),
  };
};

/** Limits connections of one address, so that one client cannot take all of them. */
const limitConnections = (server: Server, most: number): void => {
  const open = new Map<string, number>();
  server.on('connection', (socket) => {
    const { remoteAddress: client = '' } = socket;
    const count = (open.get(client) ?? 0) + 1;
    if (count > most) {
      socket.destroy();
      return;
    }
    open.set(client, count);
    socket.once('close', () => {
      const left = (open.get(client) ?? 1) - 1;
      if (left > 0) open.set(client, left);
      else open.delete(client);
    });
  });
};

const tlsServer = async (
  { certificate, key }: NonNullable<ServerOptions['tls']>,
  handler: RequestListener,
): Promise<Server> => {
  const pem = { cert: await readGivenFile(certificate), key: await readGivenFile(key) };
  try {
    return createTlsServer(pem, handler);
  } catch (cause) {
    // OpenSSL's message may quote the key.
    throw new FleetError(
      'CONFIG_INVALID',
      `${certificate} and ${key} are not a certificate and its key in PEM`,
      {
        cause,
        hint: 'Give the certificate with its chain, and the private key without a password',
      },
    );
  }
};

const cannotListen = (error: unknown, { host, port }: Listen): FleetError => {
  const { code } = error as NodeJS.ErrnoException;
  const where = `${host}:${port}`;
  if (code === 'EADDRINUSE')
    return new FleetError('USAGE', `${where} is in use already`, {
      hint: 'Choose another port with --listen',
    });
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return new FleetError('USAGE', `${host} is not an address of this machine`, {
      hint: 'Give an address of this machine with --listen, such as 127.0.0.1:5000',
    });
  return toFleetError(error, `listening at ${where}`);
};

const close = async (server: Server): Promise<void> => {
  const closed = once(server, 'close');
  server.close();
  server.closeIdleConnections();
  const timer = setTimeout(() => server.closeAllConnections(), GRACE);
  await closed;
  clearTimeout(timer);
};
