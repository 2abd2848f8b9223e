import type { Dirent } from 'node:fs';
import { opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { toFleetError } from '../../errors.ts';
import { openMediumFolder, named } from './open-medium-folder.ts';

/**
 * Streams the names in a folder of a medium, which may have a million foreign files. Empty when the folder does not exist.
 * @param folder path from the root; '' for the root itself
 * @param isWanted by default regular files only
 * @throws FleetError MEDIUM_INVALID when a link or file is in place of the folder, PERMISSION, IO
 */
export async function* namesIn(
  root: string,
  folder: string,
  isWanted: (entry: Dirent) => boolean = (entry) => entry.isFile(),
): AsyncGenerator<string> {
  try {
    await using held = await openMediumFolder(root, folder);
    if (!held) return;
    const entries = await named(held, () => opendir(held.path, { bufferSize: 1024 }));
    for await (const entry of entries) if (isWanted(entry)) yield entry.name;
  } catch (error) {
    throw toFleetError(error, `listing ${join(root, folder)}`);
  }
}
