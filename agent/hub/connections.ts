import { Agent, buildConnector, type Dispatcher, EnvHttpProxyAgent } from 'undici';
import { defined } from '#bundles/defined';
import { endingWith } from '#bundles/transport/registry/http/ending-with';
import type { HubTrust } from './hub-trust.ts';

export type HubConnections = Dispatcher;

const CONNECT_MS = 10_000;
export const ANSWER_MS = 60_000;

/**
 * Opens TLS 1.3 connections to one hub. Chain and host name are verified against the fleet's authorities only. Without
 * authorities nothing is verified; use that only for content that is then verified by its digest.
 */
export const openConnections = (
  origin: string,
  { authorities, credential }: HubTrust,
  env: NodeJS.ProcessEnv,
  patience: number,
  lifetime: AbortSignal,
): HubConnections => {
  const tls = defined({
    minVersion: 'TLSv1.3' as const,
    timeout: Math.min(CONNECT_MS, patience),
    // Explicit, so that NODE_TLS_REJECT_UNAUTHORIZED cannot disable it.
    rejectUnauthorized: authorities !== undefined,
    ca: authorities ? [...authorities] : undefined,
    cert: credential?.certificate,
    key: credential?.key,
  });
  const settings = {
    connect: endingWith(lifetime, buildConnector({ allowH2: false, ...tls })),
    headersTimeout: patience,
    bodyTimeout: patience,
    connections: 2,
    allowH2: false,
  };
  const proxy = proxyOf(env);
  if (proxy === undefined || isLoopback(origin)) return new Agent(settings);
  // The fleet's authority applies to the hub behind the tunnel; the certificate of a proxy is verified by system authorities.
  return new EnvHttpProxyAgent({
    ...settings,
    httpProxy: proxy,
    httpsProxy: proxy,
    noProxy: env['no_proxy'] || env['NO_PROXY'] || '',
    requestTls: tls,
    proxyTls: { timeout: CONNECT_MS },
  });
};

/** Lower case takes precedence, as in curl and Go. */
const proxyOf = (env: NodeJS.ProcessEnv): string | undefined => {
  const said = env['https_proxy'] || env['HTTPS_PROXY'];
  if (!said) return undefined;
  return /^[a-z0-9]+:\/\//i.test(said) ? said : `http://${said}`;
};

const isLoopback = (origin: string): boolean =>
  /^https:\/\/(?:localhost|127\.[\d.]+|\[::1\])(?::\d+)?$/i.test(origin);
