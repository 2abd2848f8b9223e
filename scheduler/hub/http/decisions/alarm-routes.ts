import type { FastifyRequest } from 'fastify';
import { FleetError } from '#bundles/errors';
import { ALARMS_PATH } from '#bundles/formats/events/hub-api';
import { parseDocument } from '#bundles/json/validate';
import { parseName } from '#bundles/names';
import type { Documents } from '#bundles/schemas/documents';
import { formatTime, parseTime } from '#bundles/time';
import { SEVERITIES } from '../../../model/severity.ts';
import {
  acknowledgeAlarms,
  endHandling,
  type HandleRequest,
  silenceAlarms,
} from '../../alarms/handle-alarms.ts';
import { type AlarmsAsked, isSeen, listAlarms } from '../../alarms/list-alarms.ts';
import { listCauses } from '../../alarms/list-causes.ts';
import { listPast } from '../../alarms/list-past.ts';
import type { Page } from '../../page.ts';
import { READERS } from '../access/access.ts';
import {
  auditedCaller,
  checkAlarms,
  mayHandleAlarms,
  principalOf,
  visibleTo,
} from '../access/enforce-access.ts';
import type { Context } from '../context.ts';
import type { HubServer } from '../hub-server.ts';
import { sendFacts } from '../readers/history-routes.ts';
import { readPlaces } from '../readers/read-places.ts';
import { UNAUTHENTICATED_RATE } from '../readers/reader-routes.ts';
import { createAnswerOnce } from './answer-once.ts';

const PER_MINUTE = { max: 300, timeWindow: 60_000 };

/** Adds the routes for reading alarms, and for acknowledging and silencing them (docs/hub-api.md). */
export const alarmRoutes = (server: HubServer, context: Context): void => {
  const { hub, clock } = context;
  const { db } = hub.store;
  const forReaders = { config: { rateLimit: UNAUTHENTICATED_RATE, access: READERS } };
  const answerOnce = createAnswerOnce(hub.store, clock);

  server.get(ALARMS_PATH, forReaders, async (request, reply) => {
    const { asked, page } = await readAsked(request, context);
    const now = clock();
    return sendFacts(request, reply, { at: formatTime(now), ...(await listAlarms(db, asked, page, now)) });
  });

  server.get(`${ALARMS_PATH}/causes`, forReaders, async (request, reply) => {
    const { asked, page } = await readAsked(request, context);
    const now = clock();
    return sendFacts(request, reply, { at: formatTime(now), ...(await listCauses(db, asked, page, now)) });
  });

  server.get(`${ALARMS_PATH}/past`, forReaders, async (request, reply) => {
    const { filter, page } = await readPlaces(request, context);
    const answer = await listPast(db, filter, page);
    return sendFacts(request, reply, { at: formatTime(clock()), ...answer });
  });

  const decide = <Name extends 'hub-decisions#alarm-handle' | 'hub-decisions#alarm-silence'>(
    path: string,
    schema: Name,
    work: (request: HandleRequest, body: Documents[Name]) => Promise<object>,
  ): void => {
    server.post(
      `${ALARMS_PATH}${path}`,
      {
        config: { rateLimit: PER_MINUTE, access: { for: 'verb', verb: 'alarms', byWorkspace: true } },
      },
      async (request) => {
        const body = parseDocument(schema, request.body ?? {}, 'the request');
        const caller = principalOf(request);
        const { id, person = id } = caller;
        const visible = await visibleTo(request, context);
        const { target, reason } = body;
        const run = (): Promise<object> =>
          work(
            {
              target,
              reason,
              person,
              now: clock(),
              sees: (subject) =>
                visible === undefined || isSeen(visible, subject) || mayHandleAlarms(caller, subject),
              check: (subject) => checkAlarms(caller, subject),
            },
            body,
          );
        const answer = await answerOnce(request, { tokenId: id, body }, run);
        // The entry goes to the audit log with the next round of the leader.
        context.onSiteChange();
        request.log.info({ ...auditedCaller(caller), target, route: path }, 'alarms handled');
        return answer;
      },
    );
  };

  decide('/acknowledge', 'hub-decisions#alarm-handle', (request) => acknowledgeAlarms(hub.store, request));
  decide('/silence', 'hub-decisions#alarm-silence', (request, { until }) =>
    silenceAlarms(hub.store, { ...request, until: parseTime(until) }),
  );
  decide('/end', 'hub-decisions#alarm-handle', (request) => endHandling(hub.store, request));
};

/** @throws FleetError USAGE, NAME_INVALID */
const readAsked = async (
  request: FastifyRequest,
  context: Context,
): Promise<{ readonly asked: AlarmsAsked; readonly page: Page }> => {
  const more = ['kind', 'severity', 'cause', 'workspace'] as const;
  const { filter, page, query } = await readPlaces(request, context, more);
  const { kind, cause, workspace } = query;
  const severity = SEVERITIES.find((one) => one === query.severity);
  if (query.severity !== undefined && severity === undefined)
    throw new FleetError('USAGE', `severity is ${SEVERITIES.join(', ')}`);
  return {
    asked: {
      ...filter,
      kind,
      severity,
      cause,
      workspace: workspace === undefined ? undefined : parseName(workspace, 'workspace'),
    },
    page,
  };
};
