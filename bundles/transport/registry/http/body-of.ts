/** The body of a response. It must be read to its end or dumped, otherwise its connection stays in use. */
export type Body = AsyncIterable<Uint8Array> & {
  /** Discards the body; closes the connection if the rest is long. */
  readonly dump: () => Promise<void>;
};

/** Bytes that dump reads to keep the connection, about the cost of a new one. */
const MAX_DRAIN_BYTES = 128 << 10;

/** The chunks of a body. */
export const bodyOf = (bytes: AsyncGenerator<Uint8Array>): Body => ({
  [Symbol.asyncIterator]: () => bytes,
  dump: async () => {
    let size = 0;
    try {
      for await (const piece of bytes) if ((size += piece.byteLength) > MAX_DRAIN_BYTES) return;
    } catch {
      // Errors of a discarded body are ignored.
    }
  },
});
