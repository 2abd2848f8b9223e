import { connect } from 'node:tls';
import type { RegistryOptions } from '../registry.ts';

const HANDSHAKE_MS = 10_000;

/** 'localhost', '127.x.y.z', '[::1]', with or without a port. */
export const isLoopback = (host: string): boolean =>
  /^(?:localhost|127(?:\.[0-9]{1,3}){3}|\[::1\])(?::[0-9]+)?$/i.test(host);

/** True if the host is listed under `plainHttp`. An entry without a port covers every port of the host. */
const isListed = (host: string, plainHttp: readonly string[]): boolean =>
  plainHttp.some(
    (entry) => entry === host || (!/:[0-9]+$/.test(entry) && entry === host.replace(/:[0-9]+$/, '')),
  );

/**
 * Returns the base URL of a registry's API. Always https, except for hosts listed under `plainHttp` and for a loopback host
 * that does not speak TLS: a failing connection to another host never falls back to http.
 */
export const apiOf = async (
  host: string,
  { plainHttp, patience }: Pick<RegistryOptions, 'plainHttp' | 'patience'>,
  signal: AbortSignal,
): Promise<URL> => {
  const timeout = patience?.connect ?? HANDSHAKE_MS;
  const plain =
    isListed(host, plainHttp) ||
    (isLoopback(host) && !(await speaksTls(new URL(`https://${host}/`), timeout, signal)));
  return new URL(`${plain ? 'http' : 'https'}://${host === 'docker.io' ? 'registry-1.docker.io' : host}/v2/`);
};

/** True if a request that began at `from` may continue at `to`: never from TLS to plain HTTP, except to a listed host. */
export const mayGoTo = (from: URL, to: URL, plainHttp: readonly string[]): boolean =>
  to.protocol === 'https:' ||
  (to.protocol === 'http:' &&
    (isListed(to.host, plainHttp) ||
      (from.protocol === 'http:' && (isLoopback(to.host) || to.origin === from.origin))));

/** Token servers at other hosts than their registries, of public services. */
const TOKEN_SERVERS: Readonly<Record<string, string>> = {
  'registry-1.docker.io': 'auth.docker.io',
  'registry.gitlab.com': 'gitlab.com',
};

/** Whether a token server is the registry's own: at its host, by whatever port, or at the known one of a public service. */
export const isTokenServerOf = (api: URL, realm: URL): boolean =>
  realm.hostname === api.hostname || (TOKEN_SERVERS[api.host] === realm.host && realm.protocol === 'https:');

/** Makes only a TLS handshake and sends no request. The certificate is verified by the request that follows. */
const speaksTls = (url: URL, timeout: number, signal: AbortSignal): Promise<boolean> => {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<boolean>();
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const socket = connect({ host, port: Number(url.port) || 443, rejectUnauthorized: false });
  const stop = (): void => {
    socket.destroy();
    reject(signal.reason as Error);
  };
  signal.addEventListener('abort', stop, { once: true });
  socket.setTimeout(timeout, () => socket.destroy(new Error('no answer to a TLS handshake')));
  socket.once('secureConnect', () => {
    resolve(true);
    socket.destroy();
  });
  socket.on('error', (error: NodeJS.ErrnoException) => {
    // A host that is missing or refuses connections is an error; any other failure means that the server does not speak TLS.
    if (error.code === 'ECONNREFUSED' || error.code === 'ENOTFOUND') reject(error);
    else resolve(false);
  });
  socket.once('close', () => {
    signal.removeEventListener('abort', stop);
    resolve(false);
  });
  return promise;
};
