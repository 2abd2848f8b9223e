/** Joins short pieces into long ones: every piece passed on costs a hash update, a write and an iteration. */
export type Gather = {
  readonly fits: (piece: Uint8Array) => boolean;
  /** Copies the piece; the caller may reuse its memory. */
  readonly add: (piece: Uint8Array) => void;
  /** Returns the bytes added so far and starts a new piece. */
  readonly take: () => Uint8Array;
};

/** @param most bytes of one piece @param total bytes of all pieces */
export const gather = (most: number, total: number): Gather => {
  let left = total;
  let buffer = Buffer.allocUnsafe(Math.min(most, left));
  let filled = 0;
  return {
    fits: (piece) => filled + piece.byteLength <= buffer.byteLength,
    add: (piece) => {
      buffer.set(piece, filled);
      filled += piece.byteLength;
    },
    take: () => {
      const full = buffer.subarray(0, filled);
      left -= filled;
      buffer = Buffer.allocUnsafe(Math.min(most, left));
      filled = 0;
      return full;
    },
  };
};
