import type { Body } from './receive.ts';

/** As much is read for the sake of its connection; a new one costs about as much. */
const WORTH_READING = 128 << 10;

/** What comes of an answer, as its reader gets it. */
export const bodyOf = (bytes: AsyncGenerator<Uint8Array>): Body => ({
  [Symbol.asyncIterator]: () => bytes,
  dump: async () => {
    let size = 0;
    try {
      for await (const piece of bytes) if ((size += piece.byteLength) > WORTH_READING) return;
    } catch {
      // It was of no interest.
    }
  },
});
