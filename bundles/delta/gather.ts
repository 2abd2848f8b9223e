/** Puts short pieces into long ones: each that is handed on costs a hash, a write and a turn of the loop. */
export type Gather = {
  readonly fits: (piece: Uint8Array) => boolean;
  /** Copies; the piece may be used again after it. */
  readonly add: (piece: Uint8Array) => void;
  /** What has come so far; the next begins anew. */
  readonly take: () => Uint8Array;
};

/** @param total bytes that come in all */
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
