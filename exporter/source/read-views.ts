import type { FileHandle } from 'node:fs/promises';
import { toFleetError } from '#bundles/errors';

/** Two buffers of one size, so that the next read is under way while the last bytes are used. */
export type BufferPair = readonly [Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>];

/**
 * A file from `start` as views of two buffers that take turns: a view lasts until the next but one is asked for. Copying a
 * stick full of blobs this way needs no more memory than copying one.
 */
export async function* readViews(
  handle: FileHandle,
  buffers: BufferPair,
  name: string,
  signal?: AbortSignal,
): AsyncGenerator<Uint8Array> {
  const read = async (buffer: Uint8Array<ArrayBuffer>, position: number): Promise<number> => {
    try {
      return (await handle.read(buffer, 0, buffer.byteLength, position)).bytesRead;
    } catch (error) {
      throw toFleetError(error, `reading ${name}`);
    }
  };
  let position = 0;
  let [current, next] = buffers;
  let pending = read(current, 0);
  // A reader that goes away must not leave a failed read behind that nobody hears of.
  pending.catch(() => {});
  try {
    for (;;) {
      signal?.throwIfAborted();
      const count = await pending;
      if (count === 0) return;
      position += count;
      pending = read(next, position);
      pending.catch(() => {});
      yield current.subarray(0, count);
      [current, next] = [next, current];
    }
  } finally {
    // The buffers and the handle are the caller's again only when the system is done with them.
    await pending.catch(() => {});
  }
}
