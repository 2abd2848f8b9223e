import { FleetError, toFleetError } from '../../../errors.ts';

/** Reads a stream in pieces of a chosen size. */
export type ByteReader = {
  /** Yields the next `size` bytes. @throws FleetError SIZE_MISMATCH if the stream ends earlier; errors of the stream */
  readonly take: (size: number) => AsyncGenerator<Uint8Array, void>;
  /** Skips bytes. */
  readonly skip: (size: number) => Promise<void>;
  /** Closes the stream after the current read. */
  readonly close: () => void;
};

/** Largest piece in bytes: undici ends a request when a piece takes longer than its timeout to leave, a minute at 2 KB/s. */
const MAX_PIECE_BYTES = 128 << 10;

export const byteReader = (content: AsyncIterable<Uint8Array>, doing: string): ByteReader => {
  const chunks = content[Symbol.asyncIterator]();
  let rest: Uint8Array = new Uint8Array();

  const next = async (left: number): Promise<Uint8Array> => {
    // As a FleetError, so that the error is not attributed to the connection.
    const result = await chunks.next().catch((error: unknown) => {
      throw toFleetError(error, doing);
    });
    if (!result.done) return result.value;
    throw new FleetError('SIZE_MISMATCH', `${doing}: it ends ${left} bytes before its announced size`, {
      hint: 'The copy it is read from is damaged; make it again',
    });
  };

  async function* take(size: number): AsyncGenerator<Uint8Array, void> {
    for (let left = size; left > 0; ) {
      if (rest.byteLength === 0) rest = await next(left);
      const piece = rest.subarray(0, Math.min(left, MAX_PIECE_BYTES));
      rest = rest.subarray(piece.byteLength);
      left -= piece.byteLength;
      if (piece.byteLength > 0) yield piece;
    }
  }

  return {
    take,
    skip: async (size) => {
      for await (const _piece of take(size));
    },
    close: () => {
      chunks.return?.().catch(() => {});
    },
  };
};
