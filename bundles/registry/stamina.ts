/**
 * What the requests to one registry know of each other: when one has used up all its tries and none has got anywhere
 * meanwhile, the others need not wait for the same. Otherwise a thousand blobs are a thousand times the patience. It is
 * there again with the first success, and for a request that begins when nobody has failed for a while: an agent asks for
 * months.
 */
export type Stamina = {
  /** A request begins. */
  readonly begun: () => void;
  /** Some request got what it asked for. */
  readonly moved: () => void;
  /** How often that has been. */
  readonly moves: () => number;
  readonly failed: () => void;
  /** One has used up its tries. @param since `moves` at its first failure */
  readonly exhausted: (since: number) => void;
  /** Nobody waits for it any more; each still asks once, and the first that succeeds ends it. */
  readonly isOver: () => boolean;
  /** The registry wants to be waited for. @returns milliseconds that it then has been in all: once what several wait at a time */
  readonly asked: (ms: number) => number;
};

/** Longer than any one try hangs, and than any wait between two: what goes on failing never comes to rest. */
const REST = 120_000;

/** @param now milliseconds of a clock that nobody sets */
export const newStamina = (now: () => number = () => performance.now()): Stamina => {
  let moves = 0;
  let over = false;
  let failedAt = Number.NEGATIVE_INFINITY;
  let waited = 0;
  let waitingUntil = Number.NEGATIVE_INFINITY;
  return {
    begun: () => {
      if (now() - failedAt < REST) return;
      over = false;
      waited = 0;
    },
    moves: () => moves,
    moved: () => {
      moves += 1;
      over = false;
    },
    failed: () => {
      failedAt = now();
    },
    exhausted: (since) => {
      if (since === moves) over = true;
    },
    isOver: () => over,
    asked: (ms) => {
      const from = Math.max(now(), waitingUntil);
      waitingUntil = Math.max(waitingUntil, now() + ms);
      waited += waitingUntil - from;
      return waited;
    },
  };
};
