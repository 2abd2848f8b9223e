import { randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';
import { FleetError, toFleetError } from '#bundles/errors';
import { unlessMissing } from '#bundles/unless-missing';
import type { EditedFile } from '../../deliver/kalypso/promote-base.ts';

/**
 * Writes files of a directory. All are checked before the first is written, and each is replaced at once.
 * @param shown precedes paths in messages
 * @throws FleetError EDIT_CONFLICT if one is not as it was when the edit was made; IO, PERMISSION, DISK_FULL
 */
export const writeFiles = async (
  directory: string,
  files: readonly EditedFile[],
  shown: string,
): Promise<void> => {
  for (const { path, was } of files) {
    const now = await unlessMissing(readFile(resolve(directory, path)), `reading ${shown}${path}`);
    if (was === undefined ? now === undefined : now?.equals(was) === true) continue;
    throw new FleetError('EDIT_CONFLICT', 'the file was changed meanwhile', {
      at: { file: `${shown}${path}` },
      hint: 'Run it again',
    });
  }
  for (const { path, bytes } of files) {
    const target = resolve(directory, path);
    const draft = `${target}.${randomUUID()}`;
    try {
      await mkdir(dirname(target), { recursive: true });
      await writeFile(draft, bytes, { flag: 'wx' });
      await rename(draft, target);
    } catch (error) {
      await rm(draft, { force: true });
      throw toFleetError(error, `writing ${shown}${path}`);
    }
  }
};
