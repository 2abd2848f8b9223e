import { gzipSync } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { digestOf, hexOf } from '#bundles/digest';
import { FleetError, plainText } from '#bundles/errors';
import {
  COMPARE_PATH,
  EVENTS_PATH,
  HISTORY_PATH,
  WHERE_PATH,
  WORKLOADS_PATH,
} from '#bundles/formats/events/hub-api';
import { parseName } from '#bundles/names';
import { formatLines } from '#cli/format-table';
import { answerEvents } from '../../questions/answers/answer-events.ts';
import { type Answer, answerHistory } from '../../questions/answers/answer-history.ts';
import { answerWhere } from '../../questions/answers/answer-where.ts';
import { answerWorkloads } from '../../questions/answers/answer-workloads.ts';
import { answerCompare } from '../../questions/answers/compare-environments.ts';
import { type AskedQuestion, atOrNow, parseQuestion } from '../../questions/history/parse-question.ts';
import { parseLimit } from '../../page.ts';
import type { Access } from '../access/access.ts';
import { visibleTo } from '../access/enforce-access.ts';
import type { Context } from '../context.ts';
import type { HubServer } from '../hub-server.ts';
import { prefersText } from '../prefers-text.ts';

const PAGE = ['environment', 'site', 'workload', 'name', 'asKnownAt', 'limit', 'cursor'] as const;

/** Options of routes for readers. */
export type ForReaders = { readonly config: { readonly rateLimit: object; readonly access: Access } };

/** Adds the routes of questions about the past and about all sites. @param forReaders rate limit and access rule */
export const historyRoutes = (server: HubServer, context: Context, forReaders: ForReaders): void => {
  const { hub, clock } = context;
  const parse = async (request: FastifyRequest, known: readonly (keyof AskedQuestion)[], now: Date) =>
    parseQuestion(hub, readQuery(request, known), now, await visibleTo(request, context));
  server.get(HISTORY_PATH, forReaders, async (request, reply) => {
    const now = clock();
    const question = await parse(request, [...PAGE, 'since', 'until', 'at'], now);
    return question.at
      ? send(request, reply, await answerWhere(hub, { ...question, at: question.at }, now))
      : send(request, reply, await answerHistory(hub, question, now));
  });

  server.get(EVENTS_PATH, forReaders, async (request, reply) => {
    const now = clock();
    const question = await parse(request, [...PAGE, 'since', 'until'], now);
    return send(request, reply, await answerEvents(hub, question, now));
  });

  server.get(WHERE_PATH, forReaders, async (request, reply) => {
    const now = clock();
    const question = await parse(request, [...PAGE, 'at'], now);
    return send(request, reply, await answerWhere(hub, { ...question, at: atOrNow(question, now) }, now));
  });

  server.get(WORKLOADS_PATH, forReaders, async (request, reply) => {
    const { workload, environment, limit, cursor } = readQuery(request, [
      'workload',
      'environment',
      'limit',
      'cursor',
    ]);
    const asked = {
      workload,
      environment: environment === undefined ? undefined : parseName(environment, 'environment'),
      page: { limit: parseLimit(limit), cursor },
      visible: await visibleTo(request, context),
    };
    return send(request, reply, await answerWorkloads(hub, asked, clock()));
  });

  server.get(COMPARE_PATH, forReaders, async (request, reply) => {
    const { left, right, show, limit, cursor } = readQuery(request, [
      'left',
      'right',
      'show',
      'limit',
      'cursor',
    ]);
    if (![undefined, 'all', 'differing'].includes(show))
      throw new FleetError('USAGE', 'show is all or differing');
    const page =
      limit === undefined && cursor === undefined ? undefined : { limit: parseLimit(limit), cursor };
    const part = { page, differing: show === 'differing' };
    const sides = { left: parseName(left, 'environment'), right: parseName(right, 'environment') };
    const visible = await visibleTo(request, context);
    return send(request, reply, await answerCompare(hub, { ...sides, ...part, visible }, clock()));
  });
};

/** @throws FleetError USAGE for an unknown or repeated parameter */
export const readQuery = <const T extends readonly string[]>(
  request: FastifyRequest,
  known: T,
): { readonly [name in T[number]]?: string } & AskedQuestion => {
  const query = request.query as Readonly<Record<string, string | string[] | undefined>>;
  for (const [name, value] of Object.entries(query)) {
    if (!known.includes(name) && name !== 'format')
      throw new FleetError('USAGE', `this path has no parameter ${JSON.stringify(name.slice(0, 80))}`);
    if (typeof value !== 'string') throw new FleetError('USAGE', `${name} is given twice`);
  }
  if (![undefined, 'text', 'json'].includes(query['format'] as string | undefined))
    throw new FleetError('USAGE', 'format is text or json');
  return query as { readonly [name in T[number]]?: string };
};

/** A long answer is compressed for each call, so the time counts more than the last bytes. */
const GZIP_LEVEL = 3;

/** Members that differ at every call although no fact does. In the text of a string their quotes would be escaped. */
const CLOCK = /"(?:askedAt|forSeconds)":[^,}]*,?/g;

/** Sends JSON or text, or 304 if the caller has these facts already (RFC 9110, section 13.1.2). */
const send = (request: FastifyRequest, reply: FastifyReply, { lines, json }: Answer): FastifyReply => {
  const { format } = request.query as { readonly format?: string };
  const text = format === undefined ? prefersText(request.headers.accept ?? '') : format === 'text';
  void reply.header('cache-control', 'private, no-cache').header('vary', 'accept');
  if (text)
    return reply
      .type('text/plain; charset=utf-8')
      .send(`${plainText(formatLines(lines, undefined).join('\n'))}\n`);
  return sendFacts(request, reply, json);
};

/**
 * Sends JSON with the tag of its facts, or 304 if the caller has them.
 * @param isLong compresses it for callers that take gzip
 */
export const sendFacts = (
  request: FastifyRequest,
  reply: FastifyReply,
  json: object,
  { isLong = false }: { readonly isLong?: boolean } = {},
): FastifyReply => {
  void reply.header('cache-control', 'private, no-cache');
  const { at, ...facts } = json as { readonly at?: string };
  const content = JSON.stringify(facts);
  const tag = `W/"${hexOf(digestOf(content.replaceAll(CLOCK, ''))).slice(0, 32)}"`;
  void reply.header('etag', tag);
  if (request.headers['if-none-match'] === tag) return reply.code(304).send();
  // Long answers are written as JSON once.
  const text =
    at === undefined
      ? content
      : `{"at":${JSON.stringify(at)}${content === '{}' ? '' : ','}${content.slice(1)}`;
  void reply.type('application/json; charset=utf-8');
  if (isLong) void reply.header('vary', 'accept-encoding');
  if (!isLong || !/\bgzip\b/.test(request.headers['accept-encoding'] ?? ''))
    return reply.send(plainText(text));
  return reply.header('content-encoding', 'gzip').send(gzipSync(plainText(text), { level: GZIP_LEVEL }));
};
