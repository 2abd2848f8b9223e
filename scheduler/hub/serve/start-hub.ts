import type { Server as TlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import { defined } from '#bundles/defined';
import { FleetError, toFleetError } from '#bundles/errors';
import { type Authority, parseCertificate } from '#bundles/trust/root/certificate';
import { checkRootExpiry } from '#bundles/trust/root/root';
import type { Hub } from '../hub.ts';
import { siteSigner } from '../sites/site-signer.ts';
import type { Context } from '../http/context.ts';
import type { ValuesOptions } from '../http/values/values-routes.ts';
import { createServer } from '../http/create-server.ts';
import type { CheckRoutes } from '../http/hooks/check-routes.ts';
import type { Authoring } from '../http/authoring/authoring.ts';
import type { DecisionOptions } from '../http/decisions/decision-server.ts';
import type { HookRoutes } from '../http/hooks/hook-routes.ts';
import type { ListenAddress } from '../http/listen-address.ts';
import type { Metrics } from '../http/metrics/metrics.ts';
import type { People } from '../people/people.ts';
import { notePresence } from '../http/note-presence.ts';
import type { AgentQuota } from '../http/quota.ts';
import { readAhead } from './read-ahead.ts';
import { logFailure } from './log-failure.ts';
import { repeat } from './repeat.ts';
import {
  type CertificateSource,
  isDue,
  obtainCertificate,
  type ServerCertificate,
} from '../http/server-certificate.ts';

export type HubOptions = {
  readonly hub: Hub;
  readonly listen: ListenAddress;
  readonly authority: Authority;
  readonly certificate: CertificateSource;
  readonly metrics: Metrics;
  readonly clock: () => Date;
  readonly log: Logger;
  /** Called when a site has a new statement. */
  readonly onSiteChange?: (() => void) | undefined;
  readonly hooks?: HookRoutes | undefined;
  readonly checks?: CheckRoutes | undefined;
  readonly decisions?: DecisionOptions | undefined;
  readonly authoring?: Authoring | undefined;
  readonly people?: People | undefined;
  readonly setUp?: Context['setUp'];
  readonly values?: ValuesOptions | undefined;
  readonly onReport?: (() => void) | undefined;
  readonly leadership?: Context['leadership'];
  readonly enrolmentsPerMinute?: number;
  readonly agentQuota?: AgentQuota | undefined;
  /** Interval between checks of the hub's own certificate. */
  readonly certificateMs?: number;
};

/** A listening hub. Disposal finishes requests under way, then closes. */
export type RunningHub = AsyncDisposable & { readonly host: string; readonly port: number };

const PRESENCE_WRITE_MS = 15_000;
const CERTIFICATE_MS = 3_600_000;
/** Time for requests under way when the hub stops; then their connections are closed. */
const GRACE_MS = 20_000;

/**
 * Starts the hub: the HTTPS server, and the loops that store presence and renew the certificate.
 * @throws FleetError KEY_MISSING, ROOT_EXPIRED, CERTIFICATE_INVALID, CONFIG_INVALID; USAGE for an address that the machine does
 *   not have, BUSY if another program listens on it
 */
export const startHub = async (options: HubOptions): Promise<RunningHub> => {
  const { hub, listen, authority, metrics, clock, log } = options;
  checkRootExpiry(hub.keys.root, clock());
  const signer = await siteSigner(hub);
  const receiptKey = await hub.keys.key('receipt');
  let shown = await obtainCertificate(options.certificate, clock());
  // Disposed of in reverse order, also if the start fails.
  await using starting = new AsyncDisposableStack();
  const presence = notePresence(hub.store, clock, log);
  starting.defer(presence.flush);
  const onUnnoted = logFailure(log, 'noting who is there', 'presence not noted yet');
  starting.use(repeat(presence.flush, PRESENCE_WRITE_MS, onUnnoted));
  const context: Context = {
    hub,
    authority,
    signer,
    receiptKey,
    clock,
    metrics,
    presence,
    onSiteChange: options.onSiteChange ?? (() => {}),
    onReport: options.onReport ?? (() => {}),
    leadership: options.leadership,
    setUp: options.setUp,
  };
  const server = await createServer({
    context,
    log,
    tls: tlsOptions(shown, hub),
    hooks: options.hooks,
    checks: options.checks,
    decisions: options.decisions,
    authoring: options.authoring,
    people: options.people,
    values: options.values,
    agentQuota: options.agentQuota,
    ...defined({ enrolmentsPerMinute: options.enrolmentsPerMinute }),
  });
  exposeExpiry(metrics, shown, options);
  const renew = async (): Promise<void> => {
    const next = await nextCertificate(shown, options);
    if (!next) return;
    shown = next;
    (server.server as TlsServer).setSecureContext(tlsOptions(shown, hub));
    exposeExpiry(metrics, shown, options);
    log.info({ ends: shown.to.toISOString() }, 'certificate renewed');
  };
  const onUnrenewed = logFailure(log, 'renewing the certificate', 'certificate not renewed');
  starting.use(repeat(renew, options.certificateMs ?? CERTIFICATE_MS, onUnrenewed));
  starting.defer(async () => {
    const forceClose = setTimeout(() => server.server.closeAllConnections(), GRACE_MS);
    await server.close();
    clearTimeout(forceClose);
  });
  await readAhead(hub);
  try {
    await server.listen({
      ...listen,
      listenTextResolver: (address) => `accepting connections at ${address}`,
    });
  } catch (error) {
    throw cannotListen(error, listen);
  }
  const { address, port } = server.server.address() as AddressInfo;
  const running = starting.move();
  return { host: address, port, [Symbol.asyncDispose]: () => running.disposeAsync() };
};

const cannotListen = (error: unknown, { host, port }: ListenAddress): FleetError => {
  const { code } = error as NodeJS.ErrnoException;
  if (code === 'EADDRINUSE')
    return new FleetError('BUSY', `another program listens on ${host}:${port} already`, {
      hint: 'Is it another hub? Stop it, or give another --listen',
      cause: error,
    });
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
    return new FleetError('USAGE', `this machine has no address ${host} to listen on`, {
      hint: '--listen 0.0.0.0:8443 takes all that it has',
      cause: error,
    });
  return toFleetError(error, `listening on ${host}:${port}`);
};

/** Client certificates are requested but not required by TLS: each route checks them, as enrolment and readers have none. */
const tlsOptions = ({ certificate, key }: ServerCertificate, { keys }: Hub) => ({
  cert: certificate,
  key,
  ca: [...keys.root.agentCertificates],
  requestCert: true,
  rejectUnauthorized: false,
  minVersion: 'TLSv1.3' as const,
  handshakeTimeout: 10_000,
});

/** The next certificate if the current one is due or the files changed. */
const nextCertificate = async (
  shown: ServerCertificate,
  { certificate, clock, metrics }: HubOptions,
): Promise<ServerCertificate | undefined> => {
  if (certificate.kind === 'issued' && !isDue(shown, clock())) return undefined;
  const next = await obtainCertificate(certificate, clock());
  if (next.certificate === shown.certificate) return undefined;
  if (certificate.kind === 'issued') metrics.certificates.inc({ purpose: 'server' });
  return next;
};

const exposeExpiry = (metrics: Metrics, shown: ServerCertificate, { hub, authority }: HubOptions): void => {
  const { validToDate } = parseCertificate(authority.certificate, 'the authority');
  for (const [of, at] of [
    ['server', shown.to],
    ['authority', validToDate],
    ['root', hub.keys.root.expires],
  ] as const)
    metrics.certificateEnds.set({ of }, Math.floor(at.getTime() / 1000));
};
