import type { SetLimits } from '../cut-set.ts';
import { FAT_MAX_FILE, roomFor } from './free-space.ts';
import { readLists } from './stick-files.ts';

/** How a person wants a set to be cut; what is left out is found out. Bytes. */
export type SetWish = {
  readonly partSize?: number | undefined;
  /** Of each volume in turn; the last counts for all that follow. */
  readonly stickSizes: readonly number[];
};

/**
 * What to cut a set by, the best guess first. Where the room on the volumes decides, a set that is there already, whole or half,
 * says what was decided then: it has taken room since, and would be cut otherwise.
 * @param sticks folders of the volumes that are there @throws FleetError PERMISSION, IO
 */
export const limitsFor = async (
  { partSize, stickSizes }: SetWish,
  sticks: readonly string[],
): Promise<readonly SetLimits[]> => {
  // Any volume takes a file of this size, and a part that was cut short is not a day's work.
  const size = partSize ?? FAT_MAX_FILE;
  if (stickSizes.length > 0) return [{ partSize: size, sticks: stickSizes }];
  const found = await Promise.all(sticks.map((root) => readLists(root)));
  const remembered = found
    .flatMap(({ begun, done }) => [begun, done])
    .flatMap((list) => (list?.limits?.partSize === size ? [list.limits] : []));
  const free = { partSize: size, sticks: await Promise.all(sticks.map(roomFor)) };
  const texts = new Set<string>();
  return [...remembered, free].filter((limits) => {
    const text = JSON.stringify(limits);
    return !texts.has(text) && texts.add(text);
  });
};
