import { appendFileSync } from 'node:fs';
import * as fc from 'fast-check';

export type Worlds<World> = {
  readonly worlds: fc.Arbitrary<World>;
  readonly numRuns: number;
  /** Of the generator; without it that of all properties. */
  readonly seed?: number;
};

const { WORLDS_FROM, WORLDS_RUNS, WORLDS_LOG, WORLDS_SHRINK } = process.env;

/**
 * Makes worlds and goes through each. A long run can be made in parts, by several processes or one after the other: WORLDS_FROM=100
 * WORLDS_RUNS=50 goes through fifty of the same worlds from number 100 on. WORLDS_LOG=FILE gets a line for each that held, and
 * WORLDS_SHRINK=1 looks for the smallest world that fails.
 */
export const tryWorlds = async <World>(
  { worlds, numRuns, seed }: Worlds<World>,
  goThrough: (world: World) => Promise<void>,
): Promise<void> => {
  let at = Number(WORLDS_FROM ?? 0);
  await fc.assert(
    fc.asyncProperty(worlds, async (world) => {
      const start = performance.now();
      await goThrough(world);
      const ms = Math.round(performance.now() - start);
      if (WORLDS_LOG !== undefined) appendFileSync(WORLDS_LOG, `world ${at} held, ${ms} ms\n`);
      at += 1;
    }),
    {
      numRuns: WORLDS_RUNS === undefined ? numRuns : Number(WORLDS_RUNS),
      ...(WORLDS_FROM !== undefined && { path: WORLDS_FROM }),
      ...(seed !== undefined && { seed }),
      endOnFailure: WORLDS_SHRINK === undefined,
    },
  );
};
