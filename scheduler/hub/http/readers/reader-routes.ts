import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { digestOf, hexOf } from '#bundles/digest';
import { FleetError, plainText } from '#bundles/errors';
import { STATUS_PATH } from '#bundles/formats/events/hub-api';
import { parseName } from '#bundles/names';
import { formatLines, type Printed } from '#cli/format-table';
import { type Page, parseLimit } from '../../page.ts';
import type { ActualFilter } from '../../questions/state/read-actual.ts';
import { readStatus } from '../../questions/status/read-status.ts';
import { renderTable } from '../../questions/status/render-table.ts';
import { streamJson, streamLines } from '../../questions/status/stream-status.ts';
import { pageRoutes } from '../page-routes.ts';
import { ANYONE, READERS } from '../access/access.ts';
import { visibleTo } from '../access/enforce-access.ts';
import { prefersText } from '../prefers-text.ts';
import { changeStream } from './change-stream.ts';
import type { Context } from '../context.ts';
import { checkRoom } from '../refused-reports.ts';
import { historyRoutes } from './history-routes.ts';
import type { HubServer } from '../hub-server.ts';
import { lookupRoutes } from './lookup-routes.ts';

const READY_MS = 1_000;

/** GET the OpenAPI document of the hub. No credential. */
export const OPENAPI_PATH = '/v1/openapi.json';
const OPENAPI_FILE = join(import.meta.dirname, '../../../../docs/openapi.json');

/** Rate limit per address. All monitors of a site may share one address, each polling every few seconds. */
export const UNAUTHENTICATED_RATE = { max: 1200, timeWindow: 60_000 };

/**
 * Adds the routes for people and monitoring: the page, status, history, metrics, health, the OpenAPI document.
 * @param page the folder of the built page
 */
export const readerRoutes = async (server: HubServer, context: Context, page?: string): Promise<void> => {
  const { hub, metrics, clock } = context;
  const limited = { config: { rateLimit: UNAUTHENTICATED_RATE, access: ANYONE } };
  const forReaders = { config: { rateLimit: UNAUTHENTICATED_RATE, access: READERS } };
  // Metrics count the whole fleet.
  const forMonitors = { config: { ...limited.config, access: { for: 'readers of everything' } as const } };

  server.get(STATUS_PATH, forReaders, async (request, reply) => {
    const { filter: asked, page, text } = readQuery(request);
    const filter = { ...asked, visible: await visibleTo(request, context) };
    void reply.header('cache-control', 'no-store').header('vary', 'accept');
    if (page) {
      const answer = await readStatus(hub, filter, clock(), { page });
      return text
        ? reply.type(TEXT).send(`${plainText(formatLines(answer.lines, undefined).join('\n'))}\n`)
        : answer.json;
    }
    const pieces = text
      ? printed(streamLines(hub, filter, clock(), { render: renderTable }))
      : streamJson(hub, filter, clock());
    return reply.type(text ? TEXT : 'application/json; charset=utf-8').send(await begin(pieces));
  });

  historyRoutes(server, context, forReaders);
  lookupRoutes(server, context, forReaders);
  changeStream(server, context, forReaders);
  await pageRoutes(server, limited, page);

  server.get('/metrics', forMonitors, async (_, reply) =>
    reply.type(metrics.registry.contentType).send(await metrics.registry.metrics()),
  );

  server.get('/healthz', limited, async (_, reply) => answer(reply, 'ok'));

  const checkReady = atMostEvery(READY_MS, () => writeAndSign(context));
  server.get('/readyz', limited, async (_, reply) => {
    checkRoom(hub.store, clock());
    await checkReady();
    const { leadership } = context;
    return answer(reply, leadership ? `ready\n${leadership.isLeading() ? 'leads' : 'follows'}` : 'ready');
  });

  const document = await readFile(OPENAPI_FILE, 'utf8');
  const tag = `"${hexOf(digestOf(document)).slice(0, 32)}"`;
  server.get(OPENAPI_PATH, limited, async (request, reply) => {
    void reply.header('cache-control', 'no-cache').header('etag', tag);
    if (request.headers['if-none-match'] === tag) return reply.code(304).send();
    return reply.type('application/json').send(document);
  });
};

const TEXT = 'text/plain; charset=utf-8';

/** Waits for the first piece, whose error is the answer. Later ones break the connection. */
const begin = async (pieces: AsyncGenerator<string>): Promise<Readable> => {
  const first = await pieces.next();
  return Readable.from(
    (async function* () {
      if (first.done !== true) yield first.value;
      yield* pieces;
    })(),
  );
};

async function* printed(lines: AsyncIterable<Printed>): AsyncGenerator<string> {
  for await (const line of lines) yield `${plainText(formatLines([line], undefined).join('\n'))}\n`;
}

const answer = (reply: FastifyReply, word: string): FastifyReply => reply.type(TEXT).send(`${word}\n`);

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

const KNOWN: ReadonlySet<string> = new Set(['environment', 'site', 'format', 'limit', 'cursor']);

const readQuery = (
  request: FastifyRequest,
): { readonly filter: ActualFilter; readonly page: Page | undefined; readonly text: boolean } => {
  const query = request.query as Readonly<Record<string, string | string[] | undefined>>;
  const unknown = Object.keys(query).find((name) => !KNOWN.has(name));
  if (unknown !== undefined)
    throw new FleetError('USAGE', `this path has no parameter ${JSON.stringify(unknown.slice(0, 80))}`);
  const { environment, site, format, limit, cursor } = query;
  if (Array.isArray(limit) || Array.isArray(cursor))
    throw new FleetError('USAGE', 'limit and cursor are given once');
  if (format !== undefined && format !== 'text' && format !== 'json')
    throw new FleetError('USAGE', 'format is text or json');
  return {
    filter: {
      environment: environment === undefined ? undefined : parseName(environment, 'environment'),
      site: site === undefined ? undefined : parseName(site, 'site'),
    },
    page: limit === undefined && cursor === undefined ? undefined : { limit: parseLimit(limit), cursor },
    text: format === undefined ? prefersText(request.headers.accept ?? '') : format === 'text',
  };
};
