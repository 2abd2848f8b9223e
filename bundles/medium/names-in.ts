import type { Dirent } from 'node:fs';
import { opendir } from 'node:fs/promises';
import { toFleetError } from '../errors.ts';

/**
 * Names in a folder, one after the other: there may be a million of somebody else's. None where it is not.
 * @param isWanted by default files alone, and no links to them
 */
export async function* namesIn(
  folder: string,
  isWanted: (entry: Dirent) => boolean = (entry) => entry.isFile(),
): AsyncGenerator<string> {
  try {
    const entries = await opendir(folder, { bufferSize: 1024 });
    for await (const entry of entries) if (isWanted(entry)) yield entry.name;
  } catch (error) {
    if (['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return;
    throw toFleetError(error, `listing ${folder}`);
  }
}
