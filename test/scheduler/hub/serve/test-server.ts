import { randomBytes, X509Certificate } from 'node:crypto';
import type { InjectOptions } from 'fastify';
import { pino } from 'pino';
import {
  ENROLL_PATH,
  type EnrollAnswer,
  type EnrollRequest,
  REPORTS_PATH,
} from '#bundles/formats/events/hub-api';
import type { Channel } from '#bundles/names';
import type { SignedReport } from '#bundles/trust/reports/report';
import { addDays, formatTime } from '#bundles/time';
import { createCertificateRequest } from '#bundles/trust/root/certificate-request';
import { issueClientCertificate } from '#bundles/trust/root/issue-certificate';
import { siteSigner } from '../../../../scheduler/hub/sites/site-signer.ts';
import { createToken, type TokenRequest } from '../../../../scheduler/hub/sites/tokens/create-token.ts';
import type { Context } from '../../../../scheduler/hub/http/context.ts';
import { createServer, type ServerOptions } from '../../../../scheduler/hub/http/create-server.ts';
import type { HubServer } from '../../../../scheduler/hub/http/hub-server.ts';
import { createMetrics } from '../../../../scheduler/hub/http/metrics/metrics.ts';
import { notePresence } from '../../../../scheduler/hub/http/note-presence.ts';
import { FLEET, HOSTS, NOW, type TestAgent, type TestHub, testHub } from '../test-hub.ts';

/** The hub's paths without a socket: the certificate of TLS is handed over in a header of the test's own. */
const CERTIFICATE_HEADER = 'x-test-certificate';

export type Answer = {
  readonly status: number;
  readonly body: never;
  readonly text: string;
  readonly headers: object;
};

export type TestServer = AsyncDisposable & {
  readonly hub: TestHub;
  readonly server: HubServer;
  readonly context: Context;
  /** What the log has, line by line. */
  readonly log: readonly Record<string, unknown>[];
  readonly changes: () => number;
  /** The hub's clock from now on. */
  readonly setNow: (now: Date) => void;
  readonly get: (path: string, headers?: Record<string, string>) => Promise<Answer>;
  readonly post: (path: string, body: unknown, certificate?: string) => Promise<Answer>;
  readonly token: (order?: Partial<TokenRequest & { scope: 'enroll' }>) => Promise<string>;
  readonly reader: () => Promise<string>;
};

/** @param opened disposed of with the server; a hub without anything by default */
export const testServer = async (
  options: Partial<ServerOptions> = {},
  opened?: TestHub,
): Promise<TestServer> => {
  const hub = opened ?? (await testHub());
  let now = NOW;
  let changes = 0;
  const log: Record<string, unknown>[] = [];
  const clock = () => now;
  const silent = pino({ level: 'silent' });
  const context: Context = {
    hub,
    authority: await hub.keys.authority(),
    signer: await siteSigner(hub),
    receiptKey: await hub.keys.key('receipt'),
    clock,
    metrics: createMetrics(hub.store.db, clock),
    presence: notePresence(hub.store, clock, silent),
    onSiteChange: () => {
      changes += 1;
    },
    onReport: () => {},
  };
  const server = await createServer({
    context,
    log: pino({ level: 'debug' }, { write: (line) => log.push(JSON.parse(line) as Record<string, unknown>) }),
    certificateOf: ({ headers }) => {
      const pem = headers[CERTIFICATE_HEADER];
      return typeof pem === 'string' ? new X509Certificate(Buffer.from(pem, 'base64')) : undefined;
    },
    ...options,
  });
  const ask = async (request: InjectOptions): Promise<Answer> => {
    const answer = await server.inject(request);
    const isJson = String(answer.headers['content-type']).startsWith('application/');
    return {
      status: answer.statusCode,
      text: answer.body,
      headers: answer.headers,
      body: (isJson ? answer.json() : undefined) as never,
    };
  };
  const create = async (order: TokenRequest): Promise<string> => {
    const expires = addDays(NOW, 1);
    return (await createToken(hub.store, order, { note: undefined, expires, now: NOW })).token;
  };
  return {
    hub,
    server,
    context,
    log,
    changes: () => changes,
    setNow: (next) => {
      now = next;
    },
    get: (path, headers = {}) => ask({ method: 'GET', url: path, headers }),
    post: (path, body, certificate) =>
      ask({
        method: 'POST',
        url: path,
        headers: {
          'content-type': 'application/json',
          ...(certificate !== undefined && {
            [CERTIFICATE_HEADER]: Buffer.from(certificate).toString('base64'),
          }),
        },
        payload: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    token: (order = {}) => create({ scope: 'enroll', site: 'plant-7', replaceKey: false, ...order }),
    reader: () => create({ scope: 'reader' }),
    [Symbol.asyncDispose]: async () => {
      await server.close();
      await hub[Symbol.asyncDispose]();
    },
  };
};

export type EnrollChanges = {
  readonly fleet?: string;
  readonly channel?: Channel;
  readonly labels?: Readonly<Record<string, string>>;
  readonly request?: string;
};

export const csrOf = (agent: TestAgent, fleet = FLEET): Promise<string> =>
  createCertificateRequest({ fleet, site: agent.site, agent: agent.name }, agent.key);

export const enrollBody = async (
  token: string,
  agent: TestAgent,
  { fleet = FLEET, channel = HOSTS, labels = {}, request }: EnrollChanges = {},
): Promise<EnrollRequest> => ({
  token,
  request: {
    fleet,
    site: agent.site,
    agent: agent.name,
    channel,
    labels,
    request: request ?? (await csrOf(agent, fleet)),
    at: formatTime(NOW),
  },
});

/** Enrols over the network. @returns the agent's certificate */
export const join = async (made: TestServer, agent: TestAgent, channel?: Channel): Promise<string> => {
  const token = await made.token({ site: agent.site });
  const answer = await made.post(ENROLL_PATH, await enrollBody(token, agent, channel && { channel }));
  if (answer.status !== 200) throw new Error(answer.text);
  return (answer.body as EnrollAnswer).certificate;
};

/** A certificate that the hub did not give out, by its own authority. */
export const forgedCertificate = async (made: TestServer, agent: TestAgent, now = NOW): Promise<string> =>
  issueClientCertificate(
    { fleet: FLEET, site: agent.site, agent: agent.name },
    agent.key.public,
    made.context.authority,
    { now, serial: randomBytes(16) },
  );

export const handover = ({ statement, events }: SignedReport) => ({
  statement: JSON.parse(statement.toString()) as object,
  events: events.toString(),
});

export const hand = (made: TestServer, report: SignedReport, certificate?: string): Promise<Answer> =>
  made.post(REPORTS_PATH, handover(report), certificate);
