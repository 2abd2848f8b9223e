import {
  AUDIT_PATH,
  COMPLIANCE_PATH,
  FIRST_STEPS_PATH,
  MEDIA_PATH,
  NEXT_MEDIUM_PATH,
  OVERVIEW_PATH,
  PACKAGE_PATH,
  SEARCH_PATH,
  SITES_PATH,
} from '#bundles/formats/events/hub-api';
import { parseChannel, parseName } from '#bundles/names';
import { listAudit } from '../../promote/decide/list-audit.ts';
import { answerCompliance } from '../../questions/answers/answer-compliance.ts';
import { answerFirstSteps } from '../../questions/answers/answer-first-steps.ts';
import { answerOverview } from '../../questions/answers/answer-overview.ts';
import { answerPackage } from '../../questions/answers/answer-package.ts';
import { planMedium } from '../../questions/answers/plan-medium.ts';
import { answerSearch } from '../../questions/answers/answer-search.ts';
import { parseLimit } from '../../page.ts';
import { parseWhen } from '../../../settings/parse-when.ts';
import { listSites } from '../../questions/status/list-sites.ts';
import { listMedia } from '../../questions/status/list-media.ts';
import { formatTime } from '#bundles/time';
import { visibleTo } from '../access/enforce-access.ts';
import type { Context } from '../context.ts';
import { type ForReaders, readQuery, sendFacts } from './history-routes.ts';
import type { HubServer } from '../hub-server.ts';
import { readPlaces } from './read-places.ts';

/** Adds the routes for looking things up: the overview, sites, compliance over time, one package at one agent, media, the audit log, and the search. */
export const lookupRoutes = (server: HubServer, context: Context, forReaders: ForReaders): void => {
  const { hub, clock } = context;
  server.get(SITES_PATH, forReaders, async (request, reply) => {
    const { filter, page } = await readPlaces(request, context);
    return sendFacts(request, reply, await listSites(hub, filter, page, clock()));
  });

  server.get(OVERVIEW_PATH, forReaders, async (request, reply) => {
    const { environment } = readQuery(request, ['environment']);
    const asked = {
      environment: environment === undefined ? undefined : parseName(environment, 'environment'),
      visible: await visibleTo(request, context),
    };
    return sendFacts(request, reply, await answerOverview(hub, asked, clock()), { isLong: true });
  });

  server.get(FIRST_STEPS_PATH, forReaders, async (request, reply) => {
    const visible = await visibleTo(request, context);
    return sendFacts(request, reply, await answerFirstSteps(hub, { visible, setUp: context.setUp }, clock()));
  });

  server.get(COMPLIANCE_PATH, forReaders, async (request, reply) => {
    const now = clock();
    const { environment, since = '7d' } = readQuery(request, ['environment', 'since']);
    const asked = {
      environment: environment === undefined ? undefined : parseName(environment, 'environment'),
      since: parseWhen(since, 'since', now),
      visible: await visibleTo(request, context),
    };
    return sendFacts(request, reply, await answerCompliance(hub.store.db, asked, now));
  });

  server.get(PACKAGE_PATH, forReaders, async (request, reply) => {
    const { agent = '', assignment } = readQuery(request, ['agent', 'assignment']);
    const visible = await visibleTo(request, context);
    const asked = { agent, assignment: parseName(assignment, 'assignment'), visible };
    return sendFacts(request, reply, await answerPackage(hub, asked, clock()));
  });

  server.get(MEDIA_PATH, forReaders, async (request, reply) => {
    const { filter, page } = await readPlaces(request, context);
    return sendFacts(request, reply, await listMedia(hub, filter, page, clock()));
  });

  server.get(NEXT_MEDIUM_PATH, forReaders, async (request, reply) => {
    const { channel = '', site } = readQuery(request, ['channel', 'site']);
    const asked = {
      channel: parseChannel(channel),
      site: site === undefined ? undefined : parseName(site, 'site'),
      visible: await visibleTo(request, context),
    };
    return sendFacts(request, reply, await planMedium(hub, asked, clock()));
  });

  server.get(AUDIT_PATH, forReaders, async (request, reply) => {
    const { environment, limit, cursor } = readQuery(request, ['environment', 'limit', 'cursor']);
    const asked = {
      environment: environment === undefined ? undefined : parseName(environment, 'environment'),
      visible: await visibleTo(request, context),
    };
    const answer = await listAudit(hub, asked, { limit: parseLimit(limit), cursor });
    return sendFacts(request, reply, { at: formatTime(clock()), ...answer });
  });

  server.get(SEARCH_PATH, forReaders, async (request, reply) => {
    const { q = '', limit, cursor } = readQuery(request, ['q', 'limit', 'cursor']);
    const visible = await visibleTo(request, context);
    const asked = { text: q, visible, page: { limit: parseLimit(limit), cursor } };
    return sendFacts(request, reply, await answerSearch(hub, asked, clock()));
  });
};
