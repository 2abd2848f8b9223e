import { rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { syncDirectory } from '#bundles/formats/layout/sync-directory';
import { writeFileAtomically } from '#bundles/formats/layout/write-file';
import { PARTS_FILE, PARTS_FOLDER, PROGRESS_FILE } from '#bundles/formats/medium/medium';
import type { VolumePart } from '#bundles/formats/medium/parts/part';
import { sizeOf } from '#bundles/formats/medium/plain-files';
import { listBytes, readLists, SUMS_FILE } from '../plan/medium/volume-lists.ts';
import { sweepHalfParts } from './sweep.ts';

/** Removes parts that the list names and `keep` does not. Returns the number of removed files. */
export const removeParts = async (
  root: string,
  parts: readonly Pick<VolumePart, 'path'>[],
  keep: readonly Pick<VolumePart, 'path'>[],
): Promise<number> => {
  let removed = 0;
  for (const { path } of parts) {
    if (keep.some((one) => one.path === path)) continue;
    if ((await sizeOf(root, path)) === undefined) continue;
    await rm(join(root, path), { force: true });
    removed += 1;
  }
  return removed;
};

/**
 * Removes the set from a volume that now has a directory medium, its list first. Returns the number of removed files.
 */
export const removeSet = async (root: string): Promise<number> => {
  const { done, begun } = await readLists(root);
  if (!done && !begun) return 0;
  const parts = [
    ...(done?.parts ?? []),
    ...(begun?.parts ?? []),
    ...(begun?.replaced ?? []).map((path) => ({ path })),
  ];
  // If the run is killed here, the remaining list still names the files to remove.
  if (done) {
    const replaced = [...new Set(parts.map(({ path }) => path))];
    await writeFileAtomically(join(root, PROGRESS_FILE), listBytes({ ...done, parts: [], replaced }));
  }
  let removed = 0;
  for (const path of [PARTS_FILE, SUMS_FILE]) {
    if ((await sizeOf(root, path)) === undefined) continue;
    await rm(join(root, path), { force: true });
    removed += 1;
  }
  await syncDirectory(join(root, 'fleet'));
  removed += await removeParts(root, parts, []);
  await sweepHalfParts(root);
  await rm(join(root, PROGRESS_FILE), { force: true });
  await rmdir(join(root, PARTS_FOLDER)).catch(() => {});
  return removed;
};
