/**
 * Random access to bytes: a file, or the content of a sealed file. `read` works as in Node's FileHandle: it reads up to `length` bytes
 * from `position` into `buffer` at `offset`, and returns their number; 0 only at the end.
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
