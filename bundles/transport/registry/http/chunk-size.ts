/** Smallest chunk in bytes on a good line, small enough for strict proxies. */
export const MIN_CHUNK_BYTES = 16 << 20;
/** Smallest chunk in bytes on a line that breaks within larger ones: two minutes at 64 kbit/s. */
const SMALLEST = 1 << 20;
/** Largest chunk in bytes; larger ones do not speed up a fast line. */
const MAX_CHUNK_BYTES = 64 << 20;
/** Milliseconds of transfer that a broken connection may lose. */
const TARGET_CHUNK_MS = 2000;
/** Fewest bytes from which a rate is estimated. */
const MIN_SAMPLE_BYTES = 1 << 20;

/** Chooses the chunk size of uploads: a broken connection repeats a chunk, and each request has a fixed cost. */
export type ChunkSize = {
  /** Current chunk size in bytes. */
  readonly chunk: () => number;
  /** Records a successful chunk: bytes and milliseconds. */
  readonly sent: (bytes: number, ms: number) => void;
  /** Records a failed chunk size, which is not tried again: a bad line, or a limit of a proxy. */
  readonly failed: (bytes: number) => void;
};

export const createChunkSize = (): ChunkSize => {
  let most = MAX_CHUNK_BYTES;
  let least = MIN_CHUNK_BYTES;
  let chunk = least;
  return {
    chunk: () => chunk,
    sent: (bytes, ms) => {
      if (bytes < MIN_SAMPLE_BYTES) return;
      const perMs = bytes / Math.max(1, ms);
      chunk = Math.max(least, Math.min(most, Math.floor(perMs * TARGET_CHUNK_MS)));
    },
    failed: (bytes) => {
      if (bytes > MIN_CHUNK_BYTES) most = Math.max(MIN_CHUNK_BYTES, Math.floor(bytes / 2));
      else least = Math.max(SMALLEST, Math.floor(bytes / 2));
      chunk = least;
    },
  };
};
