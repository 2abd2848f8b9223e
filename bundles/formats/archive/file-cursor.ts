import { type ByteCursor, cursorOf } from './byte-cursor.ts';
import type { RandomAccess } from './random-access.ts';

/** Bytes of one read while reading sequentially. */
const AHEAD = 64 * 1024;
/** Bytes of the first read after a jump of more than AHEAD: enough for the padding and the next header. */
const PAGE = 4096;

/**
 * A cursor over `size` bytes at random access that skips by seeking, so that the headers of an archive of any size are
 * read in milliseconds. Does not close `handle`. Its reads reject with FleetError INTERNAL when two overlap, and with errors of `handle`.
 */
export const fileCursor = (handle: Pick<RandomAccess, 'read'>, size: number): ByteCursor => {
  let at = 0;
  let rest = Buffer.alloc(0);
  let jumped = true;

  const next = async (most: number): Promise<Uint8Array> => {
    if (rest.length === 0) {
      // A new buffer each time: the caller may keep the one before.
      const buffer = Buffer.allocUnsafe(Math.min(jumped ? PAGE : AHEAD, size - at));
      if (buffer.length === 0) return buffer;
      rest = buffer.subarray(0, (await handle.read(buffer, 0, buffer.length, at)).bytesRead);
      jumped = false;
    }
    const head = rest.subarray(0, most);
    rest = rest.subarray(head.length);
    at += head.length;
    return head;
  };

  const skip = async (count: number): Promise<number> => {
    const skipped = Math.min(count, size - at);
    jumped ||= skipped > rest.length + AHEAD;
    rest = rest.subarray(skipped);
    at += skipped;
    return skipped;
  };

  return cursorOf({ next, skip, close: async () => {} });
};
