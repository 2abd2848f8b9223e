import { toFleetError } from '#bundles/errors';
import type { Readable } from './open-readable.ts';
import { type BufferPair, PAGE } from './page-memory.ts';

/**
 * `size` bytes of a file from `from`, fewer where it ends, as views of two buffers that take turns: a view lasts until the next
 * is asked for. Whole pages are read, as direct reading wants it: the last view may hold more than is wanted.
 */
export async function* readViews(
  readPages: Readable['read'],
  buffers: BufferPair,
  name: string,
  {
    from,
    size,
    signal,
  }: { readonly from: number; readonly size: number; readonly signal?: AbortSignal | undefined },
): AsyncGenerator<Uint8Array> {
  let position = from;
  const end = from + size;
  const read = async (buffer: Uint8Array<ArrayBuffer>): Promise<number> => {
    if (position >= end) return 0;
    const length = Math.min(buffer.byteLength, Math.ceil((end - position) / PAGE) * PAGE);
    try {
      return await readPages(buffer, length, position);
    } catch (error) {
      throw toFleetError(error, `reading ${name}`);
    }
  };
  let [current, next] = buffers;
  let pending = read(current);
  // A reader that goes away must not leave a failed read behind that nobody hears of.
  pending.catch(() => {});
  try {
    for (;;) {
      signal?.throwIfAborted();
      const count = await pending;
      if (count === 0) return;
      position += count;
      pending = read(next);
      pending.catch(() => {});
      yield current.subarray(0, count);
      [current, next] = [next, current];
    }
  } finally {
    // The buffers and the handle are the caller's again only when the system is done with them.
    await pending.catch(() => {});
  }
}
