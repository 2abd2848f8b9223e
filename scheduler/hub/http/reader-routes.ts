import type { FastifyReply, FastifyRequest } from 'fastify';
import { FleetError, plainText } from '#bundles/errors';
import { STATUS_PATH } from '#bundles/formats/events/hub-api';
import { parseName } from '#bundles/names';
import type { ActualFilter } from '../status/read-actual.ts';
import { readStatus } from '../status/read-status.ts';
import { checkToken } from '../tokens/check-token.ts';
import type { Context } from './context.ts';
import type { HubServer } from './hub-server.ts';

const READY_MS = 1_000;

/** Rate limit per address. All monitors of a site may share one address, each polling every few seconds. */
export const STRANGERS_PER_MINUTE = { max: 1200, timeWindow: 60_000 };

/** Adds the routes for people and monitoring: status, metrics, health. */
export const readerRoutes = (server: HubServer, context: Context): void => {
  const { hub, metrics, clock } = context;
  const limited = { config: { rateLimit: STRANGERS_PER_MINUTE } };
  // preHandler runs after the rate limit, which bounds token guessing.
  const forReaders = { ...limited, preHandler: (request: FastifyRequest) => checkReader(request, context) };

  server.get(STATUS_PATH, forReaders, async (request, reply) => {
    const { filter, text } = readQuery(request);
    const { lines, json } = await readStatus(hub, filter, clock());
    void reply.header('cache-control', 'no-store').header('vary', 'accept');
    return text ? reply.type('text/plain; charset=utf-8').send(`${plainText(lines.join('\n'))}\n`) : json;
  });

  server.get('/metrics', forReaders, async (_, reply) =>
    reply.type(metrics.registry.contentType).send(await metrics.registry.metrics()),
  );

  server.get('/healthz', limited, async (_, reply) => answer(reply, 'ok'));

  const checkReady = atMostEvery(READY_MS, () => writeAndSign(context));
  server.get('/readyz', limited, async (_, reply) => {
    await checkReady();
    return answer(reply, 'ready');
  });
};

const answer = (reply: FastifyReply, word: string): FastifyReply =>
  reply.type('text/plain; charset=utf-8').send(`${word}\n`);

/** Readiness: the database is writable and the receipt key is available. @throws FleetError */
const writeAndSign = async ({ hub }: Context): Promise<void> => {
  await hub.store.transact(async () => {});
  await hub.keys.key('receipt');
};

/** Shares one result among all calls within `ms`: the route needs no token, and each check writes to the disk. */
const atMostEvery = (ms: number, work: () => Promise<void>): (() => Promise<void>) => {
  let last: Promise<void> | undefined;
  let at = 0;
  return () => {
    const now = performance.now();
    if (last === undefined || now - at >= ms) [last, at] = [work(), now];
    return last;
  };
};

/** Bearer token in the header (RFC 6750). Not in the query, which proxies log. @throws FleetError TOKEN_INVALID */
const checkReader = async (request: FastifyRequest, { hub, clock }: Context): Promise<void> => {
  const [scheme = '', token, ...more] = (request.headers.authorization ?? '').split(' ');
  if (scheme.toLowerCase() !== 'bearer' || more.length > 0) {
    throw new FleetError('TOKEN_INVALID', "this path wants a reader's token", {
      hint: 'Send it as "Authorization: Bearer ..."; fleet-scheduler tokens create --reader makes one',
    });
  }
  await checkToken(hub.store.db, token, 'reader', clock());
};

const readQuery = (request: FastifyRequest): { readonly filter: ActualFilter; readonly text: boolean } => {
  const query = request.query as Readonly<Record<string, string | string[] | undefined>>;
  const unknown = Object.keys(query).find((name) => !['environment', 'site', 'format'].includes(name));
  if (unknown !== undefined)
    throw new FleetError('USAGE', `this path knows no ${JSON.stringify(unknown.slice(0, 80))}`);
  const { environment, site, format } = query;
  if (format !== undefined && format !== 'text' && format !== 'json')
    throw new FleetError('USAGE', 'format is text or json');
  return {
    filter: {
      environment: environment === undefined ? undefined : parseName(environment, 'environment'),
      site: site === undefined ? undefined : parseName(site, 'site'),
    },
    text: format === undefined ? prefersText(request.headers.accept ?? '') : format === 'text',
  };
};

/** Whether the client accepts text and not JSON. curl accepts anything and gets JSON. */
const prefersText = (accept: string): boolean =>
  /text\/plain/.test(accept) && !/application\/json/.test(accept);
