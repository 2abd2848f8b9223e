/** What comes behind the head of an answer: read once, to its end or dumped, or its connection stays taken. */
export type Body = AsyncIterable<Uint8Array> & {
  /** Throws away what comes; a long rest with its connection. */
  readonly dump: () => Promise<void>;
};

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
