import { once } from 'node:events';
import type { ServerResponse } from 'node:http';

/** What counts as reading: so many bytes in so many milliseconds. */
export type Pace = { readonly bytes: number; readonly ms: number };

/**
 * Waits until a client has taken what it was sent, again and again; a client below the minimum rate would hold its place for days.
 * Only time that the client was waited for counts: a slow medium is not its fault.
 * @returns waits for 'drain', or behind the end for 'finish' the returned functions reject with AbortError when the client disconnects or stays below the minimum rate
 */
export const drainAtPace = (response: ServerResponse, { bytes, ms }: Pace, gone: AbortSignal) => {
  let left = ms;
  let mark = takenOf(response);
  return async (event: 'drain' | 'finish'): Promise<void> => {
    const begin = performance.now();
    const limit = AbortSignal.timeout(Math.max(1, Math.ceil(left)));
    await once(response, event, { signal: AbortSignal.any([gone, limit]) });
    left -= performance.now() - begin;
    if (takenOf(response) - mark < bytes) return;
    mark = takenOf(response);
    left = ms;
  };
};

const takenOf = ({ socket }: ServerResponse): number =>
  socket ? socket.bytesWritten - socket.writableLength : 0;
