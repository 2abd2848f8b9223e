import type { FastifyRequest } from 'fastify';
import { MEDIA_PATH } from '#bundles/formats/events/hub-api';
import { parseDocument } from '#bundles/json/validate';
import { recordDeparture, type RecordedMedium } from '../../sites/medium/note-medium.ts';
import { auditedCaller, checkAllowed, principalOf } from '../access/enforce-access.ts';
import type { Context } from '../context.ts';
import type { HubServer } from '../hub-server.ts';

const PER_MINUTE = { max: 300, timeWindow: 60_000 };
/** A thousand releases and a thousand sites. */
const BODY_BYTES = 256 << 10;

/** Adds the route by which fleet-export says that a medium leaves the office. A repetition changes nothing. */
export const mediaRoutes = (server: HubServer, { hub, clock }: Context): void => {
  server.post(
    MEDIA_PATH,
    {
      config: { rateLimit: PER_MINUTE, access: { for: 'verb', verb: 'record' } },
      bodyLimit: BODY_BYTES,
    },
    answerRecord({ hub, clock }),
  );
};

const answerRecord =
  ({ hub, clock }: Pick<Context, 'hub' | 'clock'>) =>
  async (request: FastifyRequest): Promise<RecordedMedium> => {
    const schema = 'hub-decisions#record-medium';
    const departure = parseDocument(schema, request.body ?? {}, 'the request');
    const principal = principalOf(request);
    const environments = new Set(departure.releases.map((release) => release.split('/')[0] ?? ''));
    for (const environment of environments) checkAllowed(principal, 'record', environment);
    const recorded = await recordDeparture(hub.store, departure, clock());
    request.log.info({ ...auditedCaller(principal), ...recorded }, 'medium recorded');
    return recorded;
  };
