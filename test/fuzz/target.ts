import type { Mutate } from './mutate-bytes.ts';

/**
 * One parser of something untrusted. `run` may throw a FleetError, which is an answer; anything else it throws, time it does not
 * come back from and memory it does not give back are findings. Where it is cheap, `run` also holds what was let through against
 * what may be let through, and throws Unsound.
 */
export type Target = {
  readonly name: string;
  /** Good inputs, always the same bytes. */
  readonly corpus: readonly Buffer[];
  readonly mutate: Mutate;
  /** How many changed inputs the component tests try: fewer of what takes long. */
  readonly unitCases?: number;
  readonly run: (input: Buffer) => unknown;
};

/** Something was let through that must not be. */
export class Unsound extends Error {
  override readonly name = 'Unsound';
}

export const insist = (condition: boolean, what: string): void => {
  if (!condition) throw new Unsound(what);
};
