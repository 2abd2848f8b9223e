import { isFleetError } from '#bundles/errors';
import type { SetLimits } from './cut-set.ts';
import type { Prepared } from '../prepare.ts';
import { filesOfVolume, checkFreeSpace } from '../medium/free-space.ts';
import { layOutSet, type SetLayout } from './set-layout.ts';
import { limitsFor, type RequestedLimits } from './set-limits.ts';
import { readLists } from '../medium/volume-lists.ts';

/** Returns the layout of a set already begun on these volumes, otherwise a new one from their sizes. */
export const findLayout = async (
  { plan, source }: Pick<Prepared, 'plan' | 'source'>,
  roots: readonly string[],
  requested: RequestedLimits,
  options: Parameters<typeof layOutSet>[3],
): Promise<SetLayout> => {
  const lists = (await Promise.all(roots.map((root) => readLists(root)))).flatMap(({ done, begun }) => [
    done,
    begun,
  ]);
  const guesses = await limitsFor(requested, roots);
  const isPresent = ({ set }: SetLayout): boolean => lists.some((list) => list?.set === set);
  for (const limits of guesses.slice(0, -1)) {
    try {
      const layout = await layOutSet(plan, source, limits, options);
      if (isPresent(layout)) return layout;
    } catch (error) {
      // The limits of an earlier set may be too small for this one.
      if (!isFleetError(error, 'USAGE')) throw error;
    }
  }
  return refuseFullVolume(plan, roots, requested, () =>
    layOutSet(plan, source, guesses.at(-1) as SetLimits, options),
  );
};

/** Refuses a full volume: its free space is not a usable volume size. @throws FleetError DISK_FULL, else of `cut` */
export const refuseFullVolume = async <T>(
  { carried }: Pick<Prepared['plan'], 'carried'>,
  [root = '', another]: readonly string[],
  { stickSizes }: RequestedLimits,
  cut: () => Promise<T>,
): Promise<T> => {
  try {
    return await cut();
  } catch (error) {
    const isByRoom = stickSizes.length === 0 && another === undefined;
    if (isByRoom && isFleetError(error, 'USAGE')) await checkFreeSpace(root, filesOfVolume(carried));
    throw error;
  }
};

/** The number of this volume within the set, found by its present content. */
export const volumeOf = async (
  root: string,
  set: string,
  parts: SetLayout['parts'],
): Promise<number | undefined> => {
  const { done, begun } = await readLists(root);
  const list = [begun, done].find((one) => one?.set === set && one.parts.length > 0);
  return parts.find(({ number }) => number === list?.parts[0]?.number)?.stick;
};
