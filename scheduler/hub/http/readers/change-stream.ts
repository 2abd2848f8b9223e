import { stat } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { FleetError } from '#bundles/errors';
import { CHANGES_PATH } from '#bundles/formats/events/hub-api';
import type { Context } from '../context.ts';
import type { ForReaders } from './history-routes.ts';
import type { HubServer } from '../hub-server.ts';

export type StreamLimits = {
  /** Streams at a time; further callers get BUSY and ask again later. */
  readonly streams: number;
  /** Of these for one token or session. */
  readonly perCaller: number;
  /** How often the hub looks for changes, for all streams together. */
  readonly lookMs: number;
  /** A stream ends after this time, so that a revoked token loses it. The client connects again. */
  readonly lifeMs: number;
};

export const STREAM_LIMITS: StreamLimits = { streams: 200, perCaller: 20, lookMs: 2000, lifeMs: 600_000 };

/** Looks without a change after which a comment is sent, so that proxies and the idle limit of the server keep a stream open. */
const COMMENT_AFTER = 10;

/** Header of an answer: the id of the newest change in it. A stream with this `Last-Event-ID` sends each later change. */
const AT_CHANGE = 'x-fleet-change';

type Follower = {
  readonly since: number;
  readonly caller: string;
  /** Id of the last change that the client knows. */
  seen: string;
};

/**
 * Adds the stream of server-sent events that says when the hub knows something new. One look serves all streams: their number does
 * not add questions to the database. An event has no content, so it shows nothing that its reader may not see.
 *
 * Each answer to a GET has the id of the change that it was read at. A client sends it as `Last-Event-ID` (HTML Living Standard, section
 * 9.2.3), so that no change is lost between an answer and the stream, or between two streams.
 */
export const changeStream = (
  server: HubServer,
  { hub }: Pick<Context, 'hub'>,
  forReaders: ForReaders,
  { streams, perCaller, lookMs, lifeMs }: StreamLimits = STREAM_LIMITS,
): void => {
  const open = new Map<ServerResponse, Follower>();
  let timer: NodeJS.Timeout | undefined;
  let isLooking = false;
  let looks = 0;

  const leave = (stream: ServerResponse): void => {
    open.delete(stream);
    if (open.size > 0) return;
    clearTimeout(timer);
    timer = undefined;
  };

  const look = async (): Promise<void> => {
    isLooking = true;
    const version = await readVersion(hub).catch(() => undefined);
    isLooking = false;
    looks += 1;
    const now = performance.now();
    const comment = looks % COMMENT_AFTER === 0 ? ':\n\n' : '';
    for (const [stream, follower] of open) {
      const isNew = version !== undefined && version !== follower.seen;
      const text = isNew ? `event: changed\nid: ${version}\ndata:\n\n` : comment;
      if (now - follower.since > lifeMs) stream.end();
      // A reader that did not take the last words gets no more of them.
      else if (stream.writableNeedDrain) stream.destroy();
      else if (text !== '') stream.write(text);
      if (isNew) follower.seen = version;
    }
    timer = open.size > 0 ? setTimeout(() => void look(), lookMs) : undefined;
  };

  // Before the answer is read: a change while it is read counts as later.
  server.addHook('preHandler', async ({ method, principal }, reply) => {
    if (method === 'GET' && principal !== undefined) void reply.header(AT_CHANGE, await readVersion(hub));
  });

  server.get(CHANGES_PATH, forReaders, async ({ principal, headers }, reply) => {
    const caller = principal === undefined ? '' : `${principal.kind} ${principal.person ?? principal.id}`;
    const own = [...open.values()].filter((one) => one.caller === caller).length;
    if (own >= perCaller)
      throw new FleetError(
        'BUSY',
        `${perCaller} pages follow the changes with this token or session already`,
        {
          hint: 'Close some of them; the page asks again later',
        },
      );
    if (open.size >= streams)
      throw new FleetError('BUSY', `${streams} pages follow the changes of this hub already`, {
        hint: 'The page asks again later; reload it to see what is new',
      });
    const at = String(reply.getHeader(AT_CHANGE));
    const last = headers['last-event-id'];
    const seen = typeof last === 'string' ? last : at;
    reply.hijack();
    const stream = reply.raw;
    stream.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    });
    stream.write(`retry: ${lookMs}\nid: ${seen}\n\n`);
    stream.on('close', () => leave(stream));
    open.set(stream, { since: performance.now(), caller, seen });
    if (!isLooking && timer === undefined) void look();
  });

  server.addHook('preClose', async () => {
    for (const stream of open.keys()) stream.end();
  });
};

/** Differs after every write to the database, and after every change of the layout. */
const readVersion = async ({ store, layout }: Context['hub']): Promise<string> => {
  const { writes } = await store.db.selectFrom('fleet').select('writes').executeTakeFirstOrThrow();
  const index = await stat(join(layout, 'index.json')).catch(() => undefined);
  return `${writes}-${index?.mtimeMs ?? 0}`;
};
