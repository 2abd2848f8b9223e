import type { FileHandle } from 'node:fs/promises';
import { toFleetError } from '../../errors.ts';
import { openRegularFile } from './open-regular-file.ts';
import type { RandomAccess } from './random-access.ts';

/**
 * Opens a file for random access, with its current size.
 * @param openFile opens the file; by default openRegularFile on `path`
 * @throws FleetError MEDIUM_INVALID, PERMISSION, IO, INTERNAL
 */
export const openFileAccess = async (
  path: string,
  openFile: () => Promise<FileHandle> = () => openRegularFile(path),
): Promise<RandomAccess> => {
  const handle = await openFile().catch((error: unknown) => {
    throw toFleetError(error, `opening ${path}`);
  });
  try {
    const { size } = await handle.stat();
    return {
      size,
      read: (buffer, offset, length, position) =>
        handle.read(buffer, offset, length, position).catch((error: unknown) => {
          // The system's message does not name the file.
          throw toFleetError(error, `reading ${path}`);
        }),
      [Symbol.asyncDispose]: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    throw toFleetError(error, `opening ${path}`);
  }
};
