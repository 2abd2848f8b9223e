import type { X509Certificate } from 'node:crypto';
import { createServer as createHttpServer, type IncomingMessage, type RequestListener } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import type { Socket } from 'node:net';
import cookie from '@fastify/cookie';
import rateLimit from '@fastify/rate-limit';
import fastify, { type FastifyReply, type FastifyRequest, LogController } from 'fastify';
import type { Logger } from 'pino';
import { defined } from '#bundles/defined';
import { FleetError, plainText } from '#bundles/errors';
import {
  CERTIFICATE_PATH,
  ENROLL_PATH,
  PRESENCE_PATH,
  REPORTS_PATH,
  ROOTS_PATH,
  SUPPORT_PATH,
} from '#bundles/formats/events/hub-api';
import { parseStrictJson } from '#bundles/json/strict-json';
import { MAX_REPORT_BYTES } from '#bundles/trust/reports/report';
import { enforceAccess } from './access/enforce-access.ts';
import { sessionRoutes } from './access/session-routes.ts';
import { signInRoutes } from './access/sign-in-routes.ts';
import { NO_PEOPLE, type People } from '../people/people.ts';
import { agentRoutes, REPORT_BODY_BYTES } from './agents/agent-routes.ts';
import { peerCertificate } from './agents/authenticate-agent.ts';
import type { Context } from './context.ts';
import { createBodyGate } from './admit-body.ts';
import { checkRoutes, type CheckRoutes } from './hooks/check-routes.ts';
import { type HookRoutes, hookRoutes } from './hooks/hook-routes.ts';
import { type HttpRefusal, PROBLEM_TYPE, toHttpRefusal, toProblem } from './http-status.ts';
import type { HubServer } from './hub-server.ts';
import { CONNECTIONS, limitConnections } from './limit-connections.ts';
import { AGENT_QUOTA, type AgentQuota } from './quota.ts';
import { type FollowerQuota, notificationRoutes } from './hooks/notification-routes.ts';
import { readBody } from './read-body.ts';
import { sendInChunks } from './send-in-chunks.ts';
import { type ValuesOptions, valuesRoutes } from './values/values-routes.ts';
import { mcpRoutes } from './readers/mcp-routes.ts';
import { mediaRoutes } from './readers/media-routes.ts';
import { readerRoutes } from './readers/reader-routes.ts';
import { earliestOpening } from '../promote/judge/judge-gate.ts';
import type { Verdict } from '../promote/judge/verdict.ts';
import type { Authoring } from './authoring/authoring.ts';
import { alarmRoutes } from './decisions/alarm-routes.ts';
import type { DecisionOptions } from './decisions/decision-server.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The body of the error response, if there was one. */
    refusal?: HttpRefusal['body'];
    /** The judgement of a gate that was asked to open. */
    verdict?: Verdict;
  }
}

export type ServerOptions = {
  readonly context: Context;
  readonly log: Logger;
  /** TLS options. Without them the server speaks plain HTTP, for tests that inject requests. */
  readonly tls?: object;
  readonly hooks?: HookRoutes | undefined;
  readonly checks?: CheckRoutes | undefined;
  readonly decisions?: DecisionOptions | undefined;
  /** Edits of the platform; undefined: no platform is configured. */
  readonly authoring?: Authoring | undefined;
  /** Default: people sign in with a break-glass code only. */
  readonly people?: People | undefined;
  /** Review of changes of values, and keys that decisions about them are judged by; default: no review, the keys of the hub. */
  readonly values?: ValuesOptions | undefined;
  /** Folder of the built page, instead of the one that belongs to this program. */
  readonly page?: string | undefined;
  /** Enrolment requests per minute and address. */
  readonly enrolmentsPerMinute?: number;
  readonly agentQuota?: AgentQuota | undefined;
  readonly followerQuota?: FollowerQuota;
  /** Returns a request's client certificate. Default: from the TLS connection. */
  readonly certificateOf?: (request: FastifyRequest) => X509Certificate | undefined;
};

/** Default limit for a body. An enrolment request with labels has about 6 KB. */
const BODY_BYTES = 64 << 10;
const MAX_DEPTH = 32;
/** Added to the memory limit for the text of a body, for its structure. */
const FREE_BYTES = 2 << 20;
/** The longest text in a body is a report, which has two bytes a character if not all of them are Latin-1. The rest are its escapes. */
const TEXT_BYTES = 2 * MAX_REPORT_BYTES;
const LONG_BYTES = 1 << 20;
/** Long enough for a 4 MiB report over a satellite link. */
const REQUEST_MS = 600_000;
const HEAD_MS = 15_000;
const IDLE_MS = 60_000;
/** How often Node checks for connections that exceed their timeouts. */
const CHECK_MS = 5_000;
const MAX_HEAD_BYTES = 16 << 10;
const ENROLMENTS_PER_MINUTE = 300;

const TIMEOUTS = {
  maxHeaderSize: MAX_HEAD_BYTES,
  headersTimeout: HEAD_MS,
  requestTimeout: REQUEST_MS,
  keepAliveTimeout: IDLE_MS,
  connectionsCheckingInterval: CHECK_MS,
};

/** Creates the hub's HTTP server with all routes (docs/hub-api.md). It does not listen yet. */
export const createServer = async (options: ServerOptions): Promise<HubServer> => {
  const { context, log, tls } = options;
  const connections = limitConnections(CONNECTIONS);
  const server: HubServer = fastify(
    defined({
      loggerInstance: log,
      logController: new LogController({ disableRequestLogging: true }),
      bodyLimit: BODY_BYTES,
      forceCloseConnections: 'idle',
      // Requests that arrive before the server stops are answered with 'connection: close'.
      return503OnClosing: false,
      exposeHeadRoutes: false,
      routerOptions: { maxParamLength: 100 },
      // Clients must not choose the request id in the log.
      requestIdHeader: false,
      clientErrorHandler: refuseBytes,
      frameworkErrors: refuse,
      serverFactory: (handle: RequestListener) => {
        const listener: RequestListener = (request, response) => {
          if (connections.admit(request, response)) handle(request, response);
        };
        const made = tls
          ? createHttpsServer({ ...TIMEOUTS, ...tls }, listener)
          : createHttpServer(TIMEOUTS, listener);
        connections.watch(made.setTimeout(IDLE_MS));
        return made;
      },
    }) as Parameters<typeof fastify>[0],
  ) as unknown as HubServer;

  // Our strict parser rejects duplicate keys and deep nesting, as for all documents (security: "caps first").
  server.removeAllContentTypeParsers();
  // One reusable buffer for long bodies: garbage collection would free separate ones too late.
  let spare: Buffer | undefined = Buffer.allocUnsafeSlow(REPORT_BODY_BYTES);
  server.addContentTypeParser(
    'application/json',
    async (request: FastifyRequest, payload: IncomingMessage) => {
      const maxBytes = request.routeOptions.bodyLimit ?? BODY_BYTES;
      const room = Number(request.headers['content-length'] ?? 0) > BODY_BYTES ? spare : undefined;
      if (room) spare = undefined;
      try {
        const body = await readBody(payload, { maxBytes, place: request.place, room });
        const maxHeld = Math.min(2 * body.byteLength, TEXT_BYTES) + FREE_BYTES;
        return parseStrictJson(body, { maxBytes, maxDepth: MAX_DEPTH, maxHeld }, 'the request');
      } finally {
        spare ??= room;
      }
    },
  );
  // Responses are also read with curl on a terminal: no control characters.
  server.setReplySerializer((payload) => plainText(JSON.stringify(payload)));
  server.setErrorHandler(refuse);
  server.setNotFoundHandler((_, reply) => {
    send(reply, 404, { code: 'USAGE', message: 'the hub has no such path' });
  });
  server.addHook('onSend', async (_, reply, payload) => sendInChunks(reply, payload));
  let closing = false;
  server.addHook('preClose', async () => {
    closing = true;
  });
  // While the hub stops, a busy connection must not stay open for another request.
  server.addHook('onSend', async (_, reply) => {
    if (closing) reply.header('connection', 'close');
  });
  server.addHook('onResponse', async (request, reply) => tell(request, reply, context));

  const peopleContext = { ...context, people: options.people ?? NO_PEOPLE };
  enforceAccess(server, peopleContext);
  const gate = createBodyGate(options.agentQuota ?? AGENT_QUOTA);
  // After access was judged, and before any body is read, of whichever path.
  server.addHook('preParsing', async (request, reply) => {
    if (request.caller ?? request.principal) connections.markAuthenticated(request.raw);
    if (request.place === undefined) await gate.unauthenticated(request, reply);
  });
  await server.register(cookie);
  await server.register(rateLimit, {
    global: false,
    errorResponseBuilder: (_, { after }) =>
      Object.assign(
        new FleetError('TOO_MANY', `too many requests from this address; try again in ${after}`),
        {
          statusCode: 429,
        },
      ),
  });
  agentRoutes(server, context, {
    gate,
    certificateOf: options.certificateOf ?? peerCertificate,
    enrolmentsPerMinute: options.enrolmentsPerMinute ?? ENROLMENTS_PER_MINUTE,
  });
  sessionRoutes(server, peopleContext);
  signInRoutes(server, peopleContext);
  await readerRoutes(server, context, options.page);
  mediaRoutes(server, context);
  mcpRoutes(server);
  alarmRoutes(server, context);
  const { keys } = context.hub;
  valuesRoutes(server, context, options.values ?? { review: undefined, readKeys: async () => keys });
  await notificationRoutes(server, context, options.followerQuota);
  if (options.decisions) {
    // Imported on demand: a hub without a platform does not load the modules that read one.
    const { decisionRoutes } = await import('./decisions/decision-routes.ts');
    decisionRoutes(server, context, options.decisions);
  }
  if (options.authoring) {
    const { platformRoutes } = await import('./authoring/platform-routes.ts');
    platformRoutes(server, options.authoring);
  }
  if (options.hooks) await hookRoutes(server, options.hooks);
  if (options.checks) await checkRoutes(server, options.checks);
  return server;
};

/** Frequent routes, logged at debug level when they succeed. */
const QUIET: ReadonlySet<string> = new Set(['/healthz', '/readyz', PRESENCE_PATH]);

/** Logs one line per request, without headers, body or token. */
const tell = (request: FastifyRequest, reply: FastifyReply, { metrics }: Context): void => {
  const route = request.routeOptions.url ?? 'unknown';
  const code = reply.statusCode;
  metrics.requests.inc({ method: request.method, route, code });
  metrics.seconds.observe({ route }, reply.elapsedTime / 1000);
  const line = defined({
    method: request.method,
    route,
    status: code,
    ms: Math.round(reply.elapsedTime),
    from: request.ip,
    agent: request.caller?.agent.id,
    code: request.refusal?.code,
    why: request.refusal?.message,
  });
  if (QUIET.has(route) && code < 400) request.log.debug(line, 'answered');
  else request.log.info(line, 'answered');
};

const refuse = (error: unknown, request: FastifyRequest, reply: FastifyReply): void => {
  const refusal = toHttpRefusal(error);
  const { status, body, retryAfter } = refusal;
  if (status >= 500 && status !== 503) request.log.error({ err: error }, 'failed');
  else if (status === 503) request.log.warn({ code: body.code, err: error }, 'could not');
  request.refusal = body;
  if (retryAfter !== undefined && !reply.hasHeader('retry-after')) reply.header('retry-after', retryAfter);
  // Closes the connection of a caller that was refused, and of a long body that was not read to its end: reading the rest
  // would cost what the refusal saves.
  const isLong = Number(request.headers['content-length'] ?? LONG_BYTES) >= LONG_BYTES;
  const isCut = !request.raw.readableEnded && (request.place !== undefined || isLong);
  if (status === 403 || status === 401 || isCut) reply.header('connection', 'close');
  if (AGENT_PATHS.has(request.routeOptions?.url)) send(reply, status, body);
  else send(reply, status, { ...toProblem(refusal), ...conditionsOf(request) }, PROBLEM_TYPE);
};

const send = (reply: FastifyReply, status: number, body: object, type = 'application/json'): void => {
  void reply
    .code(status)
    .type(type)
    .send(plainText(JSON.stringify(body)));
};

/** Agents' paths, whose errors older agents read in the form of hub-error. So is the error of an unknown path. */
const AGENT_PATHS: ReadonlySet<string | undefined> = new Set([
  undefined,
  ROOTS_PATH,
  ENROLL_PATH,
  CERTIFICATE_PATH,
  REPORTS_PATH,
  PRESENCE_PATH,
  SUPPORT_PATH,
]);

/** The verdict behind GATE_CLOSED, as `--explain` shows it. */
const conditionsOf = ({ verdict, refusal }: FastifyRequest): object => {
  if (verdict === undefined || refusal?.code !== 'GATE_CLOSED') return {};
  const { state, conditions } = verdict;
  return { state, conditions, earliest: earliestOpening(verdict) ?? null };
};

/** Answers bytes that are not a valid HTTP request or arrive too slowly. An unfinished TLS handshake gets no answer. */
const refuseBytes = (error: NodeJS.ErrnoException, socket: Socket): void => {
  const words = WORDS[error.code ?? ''] ?? (error.code?.startsWith('HPE_') === true ? NO_REQUEST : undefined);
  if (words === undefined || !socket.writable) {
    socket.destroy();
    return;
  }
  const [line, code, message] = words;
  const body = JSON.stringify({ code, message });
  socket.write(
    `HTTP/1.1 ${line}\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
  // Not end(): a slow client could keep its half of the connection open.
  socket.destroySoon();
};

type Words = readonly [string, string, string];

const NO_REQUEST: Words = ['400 Bad Request', 'USAGE', 'this is not an HTTP request'];

const WORDS: Readonly<Record<string, Words>> = {
  HPE_HEADER_OVERFLOW: [
    '431 Request Header Fields Too Large',
    'TOO_LARGE',
    'the head of the request is too long',
  ],
  ERR_HTTP_REQUEST_TIMEOUT: ['408 Request Timeout', 'BUSY', 'the request took too long to arrive'],
};
