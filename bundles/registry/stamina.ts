/**
 * What the requests to one registry know of each other: when one has used up all its tries and none has got anywhere
 * meanwhile, the others need not wait for the same. Otherwise a thousand blobs are a thousand times the patience.
 */
export type Stamina = {
  /** Some request got what it asked for. */
  readonly moved: () => void;
  /** How often that has been. */
  readonly moves: () => number;
  /** One has used up its tries. @param since `moves` at its first failure */
  readonly exhausted: (since: number) => void;
  /** Nobody waits for it any more; each still asks once, and the first that succeeds ends it. */
  readonly isOver: () => boolean;
};

export const newStamina = (): Stamina => {
  let moves = 0;
  let over = false;
  return {
    moves: () => moves,
    moved: () => {
      moves += 1;
      over = false;
    },
    exhausted: (since) => {
      if (since === moves) over = true;
    },
    isOver: () => over,
  };
};
