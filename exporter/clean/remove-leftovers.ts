import { rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { toFleetError } from '#bundles/errors';
import { syncDirectory } from '#bundles/layout/sync-directory';
import { LOCK, lockMedium } from '../write/lock-medium.ts';
import type { Leftover } from './leftover.ts';

/**
 * Removes what is still left over, under the lock that an export takes: nothing that somebody is writing now.
 * @param again what is left over as seen under the lock @returns what was removed
 */
export const removeLeftovers = async (
  files: readonly Leftover[],
  again: () => Promise<readonly Leftover[]>,
): Promise<readonly Leftover[]> => {
  await using locks = new AsyncDisposableStack();
  for (const root of new Set(files.map((file) => file.root)))
    locks.use(await lockMedium(join(root, 'fleet', LOCK), root));
  const still = new Set((await again()).map(keyOf));
  const removed = files.filter((file) => still.has(keyOf(file)));
  await removeFiles(removed);
  return removed;
};

/** @throws FleetError PERMISSION, IO */
export const removeFiles = async (files: readonly Leftover[]): Promise<void> => {
  for (const { root, path } of files) {
    await rm(join(root, path), { force: true }).catch((error: unknown) => {
      throw toFleetError(error, `removing ${join(root, path)}`);
    });
  }
  for (const folder of new Set(files.map(({ root, path }) => dirname(join(root, path)))))
    await syncDirectory(folder).catch((error: unknown) => {
      throw toFleetError(error, `writing to ${folder}`);
    });
};

const keyOf = ({ root, path }: Leftover): string => `${root}\0${path}`;
