import { createSecureContext, getCACertificates, type SecureContext } from 'node:tls';
import type { buildConnector, Dispatcher } from 'undici';
import { FleetError } from '../../../errors.ts';
import type { RegistryOptions } from '../registry.ts';
import { endingWith } from './ending-with.ts';
import { Agent, EnvHttpProxyAgent, newConnector, Pool } from './undici.ts';

/** Milliseconds without data after which a connection counts as hung. An active transfer has no limit. */
const STALL_TIMEOUTS = {
  connect: 10_000,
  headers: 60_000,
  body: 60_000,
  // Agents poll about once a minute: keep-alive outlasts one interval, which saves the TLS handshake.
  idle: 90_000,
} as const;
/** Upper bound on connections to one origin. Callers limit their concurrency themselves. */
const MAX_CONNECTIONS = 32;

/**
 * Creates a connection pool for each origin, through the proxy of the environment.
 * @throws FleetError CONFIG_INVALID for invalid certificates or proxies
 */
export const openConnections = (options: RegistryOptions, lifetime?: AbortSignal): Dispatcher => {
  const { connect, headers, body, idle } = { ...STALL_TIMEOUTS, ...options.patience };
  let secureContext: SecureContext | undefined;
  const tls = (): buildConnector.BuildOptions => ({
    secureContext: (secureContext ??= trustedAuthorities(options.ca)),
    // Explicit, so that NODE_TLS_REJECT_UNAUTHORIZED cannot disable it.
    rejectUnauthorized: true,
    timeout: connect,
  });
  const timeouts = { headersTimeout: headers, bodyTimeout: body, keepAliveTimeout: idle };
  const pool = { ...timeouts, allowH2: false, connections: MAX_CONNECTIONS };
  const proxies = proxiesOf(options.env);
  if (!proxies)
    return new Agent({ ...pool, connect: endingWith(lifetime, connectorWith(options.ca, connect, tls)) });
  return new EnvHttpProxyAgent({
    ...pool,
    ...proxies,
    connect: endingWith(lifetime, newConnector({ allowH2: false, ...tls() })),
    requestTls: tls(),
    proxyTls: tls(),
    // Tunnels plain HTTP as well, because a forwarding proxy could read and change it.
    proxyTunnel: true,
    clientFactory: (origin: URL, settings: { readonly connect: buildConnector.connector }) =>
      new Pool(origin, { ...timeouts, connect: endingWith(lifetime, settings.connect) }),
  });
};

/** Loads authorities on the first connection, because 300 of them take 50 ms and 9 MB. Reads the given certificates at once. */
const connectorWith = (
  ca: string | undefined,
  timeout: number,
  tls: () => buildConnector.BuildOptions,
): buildConnector.connector => {
  if (ca !== undefined) checkCertificates(ca);
  const plain = newConnector({ allowH2: false, timeout });
  let secure: buildConnector.connector | undefined;
  return (options, callback) => {
    if (options.protocol !== 'https:') return plain(options, callback);
    secure ??= newConnector({ allowH2: false, ...tls() });
    return secure(options, callback);
  };
};

/** The authorities of Node, of the system, and the given ones, which do not replace the others. */
export const trustedAuthorities = (ca: string | undefined): SecureContext => {
  if (ca !== undefined) checkCertificates(ca);
  const known = new Set([...getCACertificates('default'), ...getCACertificates('system')]);
  return createSecureContext({ ca: [...known, ...(ca === undefined ? [] : [ca])] });
};

const checkCertificates = (ca: string): void => {
  try {
    if (!ca.includes('-----BEGIN CERTIFICATE-----')) throw new Error('there is no PEM certificate in it');
    createSecureContext({ ca });
  } catch (cause) {
    throw new FleetError('CONFIG_INVALID', `the CA file cannot be used: ${(cause as Error).message}`, {
      cause,
      hint: 'It must hold one or more PEM certificates',
    });
  }
};

/** Reads the proxy variables, lower case first like curl and Go; undefined without a proxy. Loopback is never proxied, as in Go. */
const proxiesOf = (env: NodeJS.ProcessEnv) => {
  const variable = (name: string): string => env[name.toLowerCase()] || env[name] || '';
  const httpsProxy = variable('HTTPS_PROXY');
  const httpProxy = variable('HTTP_PROXY');
  if (!httpsProxy && !httpProxy) return undefined;
  const noProxy = [variable('NO_PROXY'), 'localhost', '127.0.0.1', '::1'].filter(Boolean).join(',');
  return { httpProxy: asUrl(httpProxy), httpsProxy: asUrl(httpsProxy), noProxy };
};

/** Accepts 'proxy:3128' for 'http://proxy:3128'. */
const asUrl = (proxy: string): string => {
  const url = !proxy || /^[a-z][a-z0-9]*:\/\//i.test(proxy) ? proxy : `http://${proxy}`;
  if (!url || URL.canParse(url)) return url;
  throw new FleetError('CONFIG_INVALID', 'the proxy that HTTPS_PROXY or HTTP_PROXY names is not a URL', {
    hint: 'Write it like http://proxy.example:3128',
  });
};
