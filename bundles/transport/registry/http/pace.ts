/** Always small enough, also for proxies that take little at once. */
export const LEAST_CHUNK = 16 << 20;
/** More does not make a fast line faster. */
const MOST = 64 << 20;
/** Milliseconds of sending that may be lost to a cut. */
const WORTH_LOSING = 2000;
/** Fewer bytes say nothing of a line. */
const TELLING = 1 << 20;

/** How much is sent to a registry at once: all of it is sent again when the connection is cut, and each request takes its time. */
export type Pace = {
  /** Bytes. */
  readonly chunk: () => number;
  /** So much arrived, in so many milliseconds. */
  readonly sent: (bytes: number, ms: number) => void;
  /** So much did not: a bad line, or a proxy that takes less at once. That much is not tried again. */
  readonly failed: (bytes: number) => void;
};

export const newPace = (): Pace => {
  let most = MOST;
  let chunk = LEAST_CHUNK;
  return {
    chunk: () => chunk,
    sent: (bytes, ms) => {
      if (bytes < TELLING) return;
      const perMs = bytes / Math.max(1, ms);
      chunk = Math.max(LEAST_CHUNK, Math.min(most, Math.floor(perMs * WORTH_LOSING)));
    },
    failed: (bytes) => {
      if (bytes > LEAST_CHUNK) most = Math.max(LEAST_CHUNK, Math.floor(bytes / 2));
      chunk = LEAST_CHUNK;
    },
  };
};
