import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import type { Digest } from '#bundles/digest';
import { toFleetError } from '#bundles/errors';

/** Of the whole file, whatever is in it. @throws FleetError PERMISSION, IO, ABORTED */
export const digestOfFile = async (path: string, signal?: AbortSignal): Promise<Digest> => {
  const hash = createHash('sha256');
  try {
    // With the signal as an option the stream would throw an error of its own.
    for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) {
      signal?.throwIfAborted();
      hash.update(chunk as Uint8Array);
    }
  } catch (error) {
    throw toFleetError(error, `reading ${path}`);
  }
  return `sha256:${hash.digest('hex')}`;
};
