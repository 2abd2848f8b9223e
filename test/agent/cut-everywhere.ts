import { join } from 'node:path';
import { expect } from 'vitest';
import { verdict } from '../bundles/verdict.ts';
import { copyOfWorld, endState, type SCENARIOS } from './crash-scenarios.ts';
import { stepsDone } from './folder-target.ts';
import { type Boundary, boundariesIn } from './boundaries.ts';
import type { World } from './world.ts';

/** How something is done in a process of its own, and gone on with. */
export type Cut = {
  /** With n, killed at the n-th boundary. Says by which signal, or what it printed: its boundaries. */
  readonly apart: (
    folder: string,
    n: number,
  ) => Promise<{ readonly signal: string | null; readonly printed: string }>;
  readonly goOn: (folder: string, n: number) => Promise<unknown>;
  /** Which of the boundaries are tried; by default all. */
  readonly choose?: (boundaries: readonly Boundary[]) => readonly Boundary[];
};

/** Kills it at each chosen boundary that it has undisturbed: each time what goes on from there ends as the undisturbed one. */
export const cutEverywhere = async (
  world: World,
  scenario: (typeof SCENARIOS)[number],
  { apart, goOn, choose = (all) => all }: Cut,
): Promise<void> => {
  const calm = copyOfWorld(world, `${scenario.name}, calm`);
  const { printed, signal } = await apart(calm, 0);
  expect(signal, printed).toBeNull();
  const boundaries = boundariesIn(printed);
  expect(boundaries.map(({ point }) => point)).toEqual(expect.arrayContaining([...scenario.passes]));
  const undisturbed = await endState(calm);
  const steps = stepsDone(join(calm, 'machine')).length;
  const waiting = [...choose(boundaries)];
  expect(waiting, 'a sample tries one boundary at least').not.toEqual([]);
  const worker = async (): Promise<void> => {
    for (let next = waiting.shift(); next; next = waiting.shift()) {
      const { point, n } = next;
      const folder = copyOfWorld(world, `${scenario.name}, ${n}`);
      const died = await apart(folder, n);
      expect(died.signal, `${point}: ${died.printed}`).toBe('SIGKILL');
      expect(await verdict(() => goOn(folder, n))).toBe('ACCEPT');
      expect(await endState(folder), point).toEqual(undisturbed);
      // A step that was done and not yet written down is done again, and no other.
      const again = point.endsWith(' done') ? 1 : 0;
      expect(stepsDone(join(folder, 'machine')).length, point).toBe(steps + again);
    }
  };
  await Promise.all([worker(), worker()]);
};
