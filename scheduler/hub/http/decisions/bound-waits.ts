import type { FastifyRequest } from 'fastify';
import { FleetError } from '#bundles/errors';

/** Requests that wait at a time; further callers get BUSY and ask again later. */
const MAX_WAITS = 100;
/** The server closes connections that are silent for 60 s. */
const MAX_SECONDS = 50;

type Bounds = { readonly timeoutMs: number; readonly signal: AbortSignal };

/** Lets a bounded number of requests wait for a bounded time, each only as long as its caller is there. */
export const boundWaits = (stop: AbortSignal) => {
  let waiting = 0;
  return {
    /**
     * @param text '30s', 1s to 50s
     * @throws FleetError USAGE for the time; BUSY; ABORTED once the caller is gone or the hub stops
     */
    wait: async <T>(
      request: FastifyRequest,
      text: string,
      work: (bounds: Bounds) => Promise<T>,
    ): Promise<T> => {
      const timeoutMs = parseWait(text);
      if (waiting >= MAX_WAITS)
        throw new FleetError('BUSY', `${MAX_WAITS} callers wait already`, { hint: 'Ask again later' });
      const gone = new AbortController();
      const { socket } = request.raw;
      const leave = (): void => gone.abort(new FleetError('ABORTED', 'the caller is gone'));
      socket.once('close', leave);
      waiting += 1;
      try {
        return await work({ timeoutMs, signal: AbortSignal.any([stop, gone.signal]) });
      } finally {
        waiting -= 1;
        socket.removeListener('close', leave);
      }
    },
  };
};

const parseWait = (text: string): number => {
  const seconds = Number(/^([1-9]\d?)s$/.exec(text)?.[1] ?? 0);
  if (seconds > 0 && seconds <= MAX_SECONDS) return seconds * 1000;
  throw new FleetError('USAGE', `${JSON.stringify(text.slice(0, 80))} is not a time to wait`, {
    hint: `Write 1s to ${MAX_SECONDS}s, and ask again`,
  });
};
