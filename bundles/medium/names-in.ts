import type { Dirent } from 'node:fs';
import { opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { toFleetError } from '../errors.ts';
import { holdFolder, named } from './hold-folder.ts';

/**
 * Names in a folder of a medium, one after the other: there may be a million of somebody else's. None where it is not.
 * @param folder path from the root; '' for the root itself
 * @param isWanted by default files alone, and no links to them
 * @throws FleetError MEDIUM_INVALID where a link or file is in the folder's place, PERMISSION, IO
 */
export async function* namesIn(
  root: string,
  folder: string,
  isWanted: (entry: Dirent) => boolean = (entry) => entry.isFile(),
): AsyncGenerator<string> {
  try {
    await using held = await holdFolder(root, folder);
    if (!held) return;
    const entries = await named(held, () => opendir(held.path, { bufferSize: 1024 }));
    for await (const entry of entries) if (isWanted(entry)) yield entry.name;
  } catch (error) {
    throw toFleetError(error, `listing ${join(root, folder)}`);
  }
}
