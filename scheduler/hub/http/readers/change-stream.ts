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

/**
 * Adds the stream of server-sent events that says when the hub knows something new. One look serves all streams: their number does
 * not add questions to the database. An event has no content, so it shows nothing that its reader may not see.
 */
export const changeStream = (
  server: HubServer,
  { hub }: Pick<Context, 'hub'>,
  forReaders: ForReaders,
  { streams, perCaller, lookMs, lifeMs }: StreamLimits = STREAM_LIMITS,
): void => {
  const open = new Map<ServerResponse, { readonly since: number; readonly caller: string }>();
  let timer: NodeJS.Timeout | undefined;
  let seen: string | undefined;
  let quiet = 0;

  const leave = (stream: ServerResponse): void => {
    open.delete(stream);
    if (open.size > 0) return;
    clearTimeout(timer);
    timer = undefined;
    seen = undefined;
  };

  const look = async (): Promise<void> => {
    const version = await readVersion(hub).catch(() => seen);
    const isNew = version !== seen && seen !== undefined;
    seen = version;
    quiet = isNew ? 0 : quiet + 1;
    const now = performance.now();
    const sign = quiet % COMMENT_AFTER === 0 ? ':\n\n' : '';
    const text = isNew ? `event: changed\nid: ${version}\ndata:\n\n` : sign;
    for (const [stream, { since }] of open) {
      if (now - since > lifeMs) stream.end();
      // A reader that did not take the last words gets no more of them.
      else if (stream.writableNeedDrain) stream.destroy();
      else if (text !== '') stream.write(text);
    }
    if (open.size > 0) timer = setTimeout(() => void look(), lookMs);
  };

  server.get(CHANGES_PATH, forReaders, async ({ principal }, reply) => {
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
    reply.hijack();
    const stream = reply.raw;
    stream.writeHead(200, {
      'content-type': 'text/event-stream',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    });
    stream.write(`retry: ${lookMs}\n\n`);
    stream.on('close', () => leave(stream));
    open.set(stream, { since: performance.now(), caller });
    if (open.size === 1 && timer === undefined) void look();
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
