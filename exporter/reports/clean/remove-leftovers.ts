import { join } from 'node:path';
import { toFleetError } from '#bundles/errors';
import { removeFilesFromMedium } from '#bundles/formats/medium/write-onto-medium';
import { LOCK } from '../../plan/medium/lock-file.ts';
import { lockMedium } from '../../write/lock-medium.ts';
import type { Leftover } from './leftover.ts';

/**
 * Removes useless files under the lock of an export, so that nothing in use is removed.
 * @param again finds the files under the lock @returns the removed files
 */
export const removeLeftovers = async (
  files: readonly Leftover[],
  again: () => Promise<readonly Leftover[]>,
  signal?: AbortSignal,
): Promise<readonly Leftover[]> => {
  await using locks = new AsyncDisposableStack();
  for (const root of new Set(files.map((file) => file.root)))
    locks.use(await lockMedium(join(root, 'fleet', LOCK), root));
  const still = new Set((await again()).map(keyOf));
  const removed = files.filter((file) => still.has(keyOf(file)));
  await removeFiles(removed, signal);
  return removed;
};

/** @throws FleetError MEDIUM_INVALID, PERMISSION, IO */
export const removeFiles = async (files: readonly Leftover[], signal?: AbortSignal): Promise<void> => {
  for (const [root, own] of Map.groupBy(files, (file) => file.root)) {
    const paths = own.map(({ path }) => path);
    await removeFilesFromMedium(root, paths, signal).catch((error: unknown) => {
      throw toFleetError(error, `removing files from ${root}`);
    });
  }
};

const keyOf = ({ root, path }: Leftover): string => `${root}\0${path}`;
