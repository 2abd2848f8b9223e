import type { Seal } from '../seal/seal.ts';
import { limitsFor, type SetWish } from '../write/set-limits.ts';
import { cutSet } from './cut-set.ts';
import { stickSize } from './pack-parts.ts';
import type { Plan } from './plan.ts';

/** Which part goes onto which stick. Bytes. */
export type SetPlan = {
  readonly partSize: number;
  readonly sealed: boolean;
  readonly sticks: readonly {
    readonly stick: number;
    /** Where it is plugged in, if it is. */
    readonly at: string | undefined;
    readonly holds: number;
    readonly bytes: number;
    readonly parts: readonly { readonly number: number; readonly size: number; readonly blobs: number }[];
  }[];
};

/**
 * As create would cut it, from sizes alone: nothing is read but what is free on the sticks.
 * @param places where the sticks are @throws FleetError USAGE for parts or sticks that are too small
 */
export const planSet = async (
  plan: Plan,
  wish: SetWish,
  places: readonly string[],
  seal: Seal | undefined,
): Promise<SetPlan> => {
  const [limits] = await limitsFor(wish, places);
  const { partSize, sticks } = limits ?? { partSize: 0, sticks: [] };
  const cut = cutSet(plan, { partSize, sticks }, seal?.sealedSize);
  return {
    partSize,
    sealed: seal !== undefined,
    sticks: Array.from({ length: cut.sticks }, (_, at) => {
      const parts = cut.parts.filter(({ stick }) => stick === at + 1);
      return {
        stick: at + 1,
        at: places[at],
        holds: stickSize(sticks, at + 1),
        bytes: parts.reduce((total, { size }) => total + size, 0),
        parts: parts.map(({ number, size, files }) => ({ number, size, blobs: files.length })),
      };
    }),
  };
};
