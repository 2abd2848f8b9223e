import { once } from 'node:events';
import type { ServerResponse } from 'node:http';

/** The minimum rate of a client: bytes within milliseconds. */
export type MinRate = { readonly bytes: number; readonly ms: number };

/**
 * Waits until a client has read what was sent. A client below the minimum rate would otherwise hold a transfer for days. Counts only
 * the time spent waiting for the client, not for a slow medium.
 * @returns a function that waits for 'drain', or after the end for 'finish'; it rejects with AbortError when the client disconnects or
 * stays below the minimum rate
 */
export const drainAtMinRate = (response: ServerResponse, { bytes, ms }: MinRate, gone: AbortSignal) => {
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
