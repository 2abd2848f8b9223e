import { readdir, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { canonicalBytes } from '#bundles/json/canonical';
import { hexOf } from '#bundles/digest';
import { FleetError, toFleetError } from '#bundles/errors';
import { syncDirectory } from '#bundles/formats/layout/sync-directory';
import { writeFileAtomically } from '#bundles/formats/layout/write-file';
import { readVolumeParts } from '#bundles/formats/medium/parts/find-parts';
import {
  CHUNKS_FOLDER,
  DELTAS_FOLDER,
  MEDIUM_FILE,
  PARTS_FILE,
  PARTS_FOLDER,
  PROGRESS_FILE,
} from '#bundles/formats/medium/medium';
import type { VolumePart, VolumeParts } from '#bundles/formats/medium/parts/part';
import { sizeOf } from '#bundles/formats/medium/plain-files';
import { sweepUnreferenced, TEMPORARY } from '../../write/sweep.ts';

/** A list for `sha256sum -c`, for people without our programs. */
export const SUMS_FILE = 'fleet/SHA256SUMS';

/** The list of parts on a volume; undefined if there is no valid list. */
export const readLists = async (
  root: string,
): Promise<{ readonly done: VolumeParts | undefined; readonly begun: VolumeParts | undefined }> => ({
  done: await orNothing(() => readVolumeParts(root, PARTS_FILE)),
  begun: await orNothing(() => readVolumeParts(root, PROGRESS_FILE)),
});

/** undefined for a damaged list, which is written again. */
const orNothing = async <T>(read: () => Promise<T>): Promise<T | undefined> => {
  try {
    return await read();
  } catch (error) {
    if (error instanceof FleetError && error.exitCode === 4) return undefined;
    throw error;
  }
};

export const listBytes = (list: VolumeParts): Buffer => canonicalBytes(list);

/** Paths relative to the folder of the file. */
export const sumsOf = (parts: readonly VolumePart[]): Buffer =>
  Buffer.from(parts.map(({ path, digest }) => `${hexOf(digest)}  ${path.slice('fleet/'.length)}\n`).join(''));

/**
 * Removes the files of a directory medium from a volume that now has a set. Its table of contents is removed last, because it shows that
 * the other files are ours. Returns the number of removed files.
 */
export const removeDirectoryMedium = async (root: string): Promise<number> => {
  if ((await sizeOf(root, MEDIUM_FILE)) === undefined) return 0;
  let removed = await sweepUnreferenced(root, new Set());
  for (const path of ['index.json', 'oci-layout', MEDIUM_FILE]) {
    if ((await sizeOf(root, path)) === undefined) continue;
    await rm(join(root, path), { force: true });
    removed += 1;
  }
  for (const folder of ['blobs/sha256', 'blobs', CHUNKS_FOLDER, DELTAS_FOLDER])
    await rmdir(join(root, folder)).catch(() => {});
  return removed;
};

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

/** Removes partial files of killed runs. */
export const sweepHalfParts = async (root: string): Promise<void> => {
  const folder = join(root, PARTS_FOLDER);
  try {
    for (const entry of await readdir(folder, { withFileTypes: true }))
      if (entry.isFile() && TEMPORARY.test(entry.name)) await rm(join(folder, entry.name), { force: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw toFleetError(error, `listing ${folder}`);
  }
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
