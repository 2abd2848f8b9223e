import type { SetLimits } from './cut-set.ts';
import { FAT_MAX_FILE, roomFor } from '../medium/free-space.ts';
import { readLists } from '../medium/volume-lists.ts';

/** Requested limits of a set, in bytes. Missing ones are derived. */
export type RequestedLimits = {
  readonly partSize?: number | undefined;
  /** Size of each volume; the last applies to all further ones. */
  readonly stickSizes: readonly number[];
};

/**
 * Returns possible limits of a set, the most likely first. If the free space decides, the limits of a set that is already there come
 * first, because that set has reduced the free space.
 * @param sticks folders of the mounted volumes @throws FleetError PERMISSION, IO
 */
export const limitsFor = async (
  { partSize, stickSizes }: RequestedLimits,
  sticks: readonly string[],
): Promise<readonly SetLimits[]> => {
  // Fits every file system, and an interrupted part costs little work.
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
