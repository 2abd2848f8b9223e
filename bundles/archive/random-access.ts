/**
 * Bytes that can be read at any place: a file, or what a file is the sealed form of. `read` is that of Node's FileHandle: it
 * fills `buffer` from `offset` with up to `length` bytes of `position` on, and says how many there were; none only at the end.
 */
export type RandomAccess = AsyncDisposable & {
  /** Bytes in all. */
  readonly size: number;
  readonly read: (
    buffer: Uint8Array,
    offset: number,
    length: number,
    position: number,
  ) => Promise<{ readonly bytesRead: number }>;
};
