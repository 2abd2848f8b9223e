import { Agent, type Dispatcher, EnvHttpProxyAgent } from 'undici';
import type { HubTrust } from './hub-trust.ts';

export type HubConnections = Dispatcher;

const CONNECT_MS = 10_000;
const ANSWER_MS = 60_000;

/**
 * TLS 1.3 to one hub, chain and host name verified against the fleet's own authority and no other. Without authorities
 * nothing is verified: only for what is then verified by its hash.
 */
export const openConnections = (
  origin: string,
  { authorities, credential }: HubTrust,
  env: NodeJS.ProcessEnv,
  patience = ANSWER_MS,
): HubConnections => {
  const tls = {
    minVersion: 'TLSv1.3' as const,
    timeout: Math.min(CONNECT_MS, patience),
    // Explicit, so that no variable of the environment can switch it off.
    rejectUnauthorized: authorities !== undefined,
    ...(authorities ? { ca: [...authorities] } : {}),
    ...(credential ? { cert: credential.certificate, key: credential.key } : {}),
  };
  const settings = {
    connect: tls,
    headersTimeout: patience,
    bodyTimeout: patience,
    connections: 2,
    allowH2: false,
  };
  const proxy = proxyOf(env);
  if (proxy === undefined || isLoopback(origin)) return new Agent(settings);
  // Of the tunnel's two ends only the far one is the hub; a proxy with a certificate has one of the system's authorities.
  return new EnvHttpProxyAgent({
    ...settings,
    httpProxy: proxy,
    httpsProxy: proxy,
    noProxy: env['no_proxy'] || env['NO_PROXY'] || '',
    requestTls: tls,
    proxyTls: { timeout: CONNECT_MS },
  });
};

/** Lower case first, as curl and Go read it. */
const proxyOf = (env: NodeJS.ProcessEnv): string | undefined => {
  const said = env['https_proxy'] || env['HTTPS_PROXY'];
  if (!said) return undefined;
  return /^[a-z0-9]+:\/\//i.test(said) ? said : `http://${said}`;
};

const isLoopback = (origin: string): boolean =>
  /^https:\/\/(?:localhost|127\.[\d.]+|\[::1\])(?::\d+)?$/i.test(origin);
