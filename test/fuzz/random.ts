/** Numbers that look random and are the same for the same seed, on every machine. */
export type Random = {
  /** 0 to below `end`, whole. */
  readonly below: (end: number) => number;
  readonly chance: (percent: number) => boolean;
  readonly pick: <T>(from: readonly T[]) => T;
  readonly bytes: (length: number) => Buffer;
};

/** Mulberry32: 32 bits of state are plenty for choosing what to break next. */
export const randomOf = (seed: number): Random => {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return (mixed ^ (mixed >>> 14)) >>> 0;
  };
  const below = (end: number): number => (end <= 1 ? 0 : next() % end);
  return {
    below,
    chance: (percent) => below(100) < percent,
    pick: (from) => {
      if (from.length === 0) throw new RangeError('there is nothing to pick from');
      return from[below(from.length)] as (typeof from)[number];
    },
    bytes: (length) => Buffer.from(Array.from({ length }, () => below(256))),
  };
};
