import type { X509Certificate } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type ErrorCode, isFleetError } from '#bundles/errors';
import {
  CERTIFICATE_PATH,
  type CertificateAnswer,
  ENROLL_PATH,
  type EnrollAnswer,
  PRESENCE_PATH,
  type PresenceNote,
  REPORTS_PATH,
  type ReportAnswer,
  ROOTS_PATH,
  type RootsAnswer,
  SUPPORT_PATH,
} from '#bundles/formats/events/hub-api';
import { formatTime } from '#bundles/time';
import { parseDocument } from '#bundles/json/validate';
import { createLimit } from '#bundles/transport/publish/limit';
import { MAX_SUPPORT_BYTES } from '#bundles/trust/reports/support';
import { takeSupport } from '../../support/take-support.ts';
import { noteRoom } from '../refused-reports.ts';
import { checkTimes, MAX_REPORT_BYTES } from '#bundles/trust/reports/report';
import type { BodyGate } from '../admit-body.ts';
import { authenticateAgent, checkCurrentKey } from './authenticate-agent.ts';
import type { Caller } from './caller.ts';
import { ANYONE, OWN_PROOF } from '../access/access.ts';
import type { Context } from '../context.ts';
import { enrollOnline } from './enroll-online.ts';
import { describedTimes } from '../../ingest/reports/described-times.ts';
import type { HubServer } from '../hub-server.ts';
import { UNAUTHENTICATED_RATE } from '../readers/reader-routes.ts';
import { renewCertificate } from './renew-certificate.ts';
import { storeReports, takeReport } from './take-report.ts';

declare module 'fastify' {
  interface FastifyRequest {
    caller?: Caller;
  }
}

export type AgentRouteOptions = {
  readonly certificateOf: (request: FastifyRequest) => X509Certificate | undefined;
  readonly enrolmentsPerMinute: number;
  readonly gate: BodyGate;
};

/** Events are sent as one JSON string, in which every quotation mark takes two bytes. */
export const REPORT_BODY_BYTES = 2 * MAX_REPORT_BYTES + (256 << 10);
/** The bundle is in Base64. */
const SUPPORT_BODY_BYTES = Math.ceil(MAX_SUPPORT_BYTES / 3) * 4 + (4 << 10);
/** An agent names at most twenty packages; fields of later versions will be small. */
const PRESENCE_BODY_BYTES = 4 << 10;

/** Adds the routes for agents (docs/hub-api.md). */
export const agentRoutes = (server: HubServer, context: Context, options: AgentRouteOptions): void => {
  const { hub } = context;
  const { certificateOf, gate, enrolmentsPerMinute: max } = options;

  server.get(
    ROOTS_PATH,
    { config: { rateLimit: UNAUTHENTICATED_RATE, access: ANYONE } },
    (): RootsAnswer => ({
      roots: hub.keys.roots.map(({ bytes }) => bytes.toString('base64')),
    }),
  );

  server.post(
    ENROLL_PATH,
    {
      config: { rateLimit: { max, timeWindow: 60_000 }, access: OWN_PROOF },
    },
    answerEnrolment(context),
  );

  const admitForRenewal = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    request.caller = await authenticateAgent(certificateOf(request), context, { allowExpired: true });
    await gate.agent(request, reply);
  };
  const config = { access: OWN_PROOF };
  server.post(CERTIFICATE_PATH, { config, onRequest: admitForRenewal }, answerRenewal(context));

  const admit = async (request: FastifyRequest, reply: FastifyReply): Promise<void> => {
    const caller = await authenticateAgent(certificateOf(request), context);
    checkCurrentKey(caller);
    request.caller = caller;
    await gate.agent(request, reply);
  };
  const forAgents = { config, onRequest: admit };
  server.post(REPORTS_PATH, { ...forAgents, bodyLimit: REPORT_BODY_BYTES }, answerReport(context));
  server.post(SUPPORT_PATH, { ...forAgents, bodyLimit: SUPPORT_BODY_BYTES }, answerSupport(context));
  server.post(PRESENCE_PATH, { ...forAgents, bodyLimit: PRESENCE_BODY_BYTES }, answerPresence(context));
};

const answerEnrolment =
  (context: Context) =>
  async (request: FastifyRequest): Promise<EnrollAnswer> => {
    const { metrics } = context;
    try {
      const { answer, request: asked, step, token } = await enrollOnline(request.body, context);
      metrics.enrolments.inc({ result: step });
      metrics.certificates.inc({ purpose: 'client' });
      const { id: agent, fingerprint } = asked;
      request.log.info({ audit: true, token, agent, fingerprint, result: step }, 'token used');
      if (step !== 'unchanged') context.onSiteChange();
      return answer;
    } catch (error) {
      metrics.enrolments.inc({ result: 'refused' });
      request.log.warn({ audit: true, code: codeOf(error), from: request.ip }, 'enrolment refused');
      throw error;
    }
  };

const answerRenewal =
  (context: Context) =>
  async (request: FastifyRequest): Promise<CertificateAnswer> => {
    const caller = callerOf(request);
    const { answer, recipient, reseal } = await renewCertificate(request.body, caller, context);
    if (recipient === 'taken') context.onSiteChange();
    context.presence.heard(caller.agent.id);
    context.metrics.certificates.inc({ purpose: 'client' });
    request.log.info({ audit: true, agent: caller.agent.id, recipient }, 'certificate renewed');
    if (recipient === 'older')
      request.log.warn({ agent: caller.agent.id }, 'reported an age recipient older than the known one');
    if (reseal.length > 0)
      request.log.warn({ agent: caller.agent.id, reseal }, 'secret sets to seal again: see secrets list');
    return answer;
  };

const SHORT_AT_ONCE = 64;
const SHORT_LENGTH = 64 << 10;

const isShort = (body: unknown): boolean => {
  const { events } = (body ?? {}) as { readonly events?: unknown };
  return typeof events === 'string' && events.length <= SHORT_LENGTH;
};

const answerReport = (context: Context) => {
  const store = storeReports(context);
  // Bounds the memory for events that were read and wait for their commit.
  const [short, long] = [createLimit(SHORT_AT_ONCE), createLimit(1)];
  return async (request: FastifyRequest): Promise<ReportAnswer> => {
    const { metrics } = context;
    const { agent } = callerOf(request);
    const inTurn = isShort(request.body) ? short : long;
    const taken = inTurn(() => takeReport(request.body, agent, { ...context, store }));
    const { answer, ingested } = await taken.catch((error: unknown) => {
      metrics.reports.inc({ result: 'refused' });
      throw error;
    });
    metrics.events.inc({ result: 'taken' }, ingested.taken);
    metrics.events.inc({ result: 'known' }, ingested.known);
    metrics.reports.inc({ result: ingested.apart ? 'apart' : 'taken' });
    for (const alarm of ingested.alarms) request.log.warn({ agent: agent.id, alarm }, 'alarm');
    if (ingested.apart) throw ingested.apart;
    context.onReport();
    return answer;
  };
};

/** Stores the answer to a request for a support bundle. A repeated one, and another one to the same request, change nothing. */
const answerSupport =
  ({ hub, clock }: Context) =>
  async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { agent } = callerOf(request);
    const { bundle } = parseDocument('hub-support', request.body, 'the support bundle');
    const bytes = Buffer.from(bundle, 'base64');
    const arrival = { bytes, agent, source: 'network', path: 'the support bundle' } as const;
    const { outcome, digest } = await noteRoom(hub.store, clock, () =>
      takeSupport(hub.store, arrival, clock()),
    );
    request.log.info({ agent: agent.id, digest, outcome }, 'support bundle');
    return reply.code(204).send();
  };

/**
 * Records that the holder of the key connected, and when it looked. The body is unsigned: it may make the agent's words younger, as a message
 * did that said nothing, and it is not evidence for a signer. An agent that says nothing is older than this, and there.
 */
const answerPresence =
  ({ presence, clock }: Context) =>
  async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const at = formatTime(clock());
    const said = readNote(request.body);
    presence.heard(callerOf(request).agent.id, describedTimes({ time: at, ...said }, at));
    return reply.code(204).send();
  };

/** @throws FleetError SCHEMA */
const readNote = (body: unknown): PresenceNote => {
  const note = parseDocument('hub-presence', body ?? {}, 'the presence message');
  checkTimes(note, 'the presence message');
  return note.time === undefined ? {} : note;
};

const codeOf = (error: unknown): ErrorCode => (isFleetError(error) ? error.code : 'INTERNAL');

/** The caller that the onRequest hook authenticated. */
const callerOf = ({ caller }: FastifyRequest): Caller => {
  if (caller === undefined) throw new TypeError('a path for agents was reached without one');
  return caller;
};
