import { posix } from 'node:path';
import { errno, hostError } from '../host-error.ts';
import { openFile } from './open-file.ts';
import { openFolder } from './open-folder.ts';
import { type Bounds, readUpTo } from './read-up-to.ts';

/**
 * Reads at most the first `maxBytes` of a regular file of the host as text. Returns undefined when there is no such file.
 * @throws FleetError PERMISSION, APPLY_FAILED, IO, ABORTED
 */
export const readText = async (root: string, path: string, bounds: Bounds): Promise<string | undefined> => {
  await using folder = await openFolder(root, posix.dirname(path));
  if (!folder) return undefined;
  try {
    await using found = await openFile(folder, posix.basename(path));
    if (!found) return undefined;
    const pieces: Buffer[] = [];
    for await (const piece of readUpTo(found.file, bounds, found.stats.size)) pieces.push(Buffer.from(piece));
    return Buffer.concat(pieces).toString();
  } catch (error) {
    if (errno(error) === 'ENOENT') return undefined;
    throw hostError(error, `reading ${path}`);
  }
};
