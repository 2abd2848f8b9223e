import type { FileHandle } from 'node:fs/promises';
import { toFleetError } from '../errors.ts';
import { openRegularFile } from './open-regular-file.ts';
import type { RandomAccess } from './random-access.ts';

/**
 * A file at random access, with the size that it has now.
 * @param openFile how it is opened; as the path says unless given @throws FleetError MEDIUM_INVALID, PERMISSION, IO, INTERNAL
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
          // The system's own words do not say of which file.
          throw toFleetError(error, `reading ${path}`);
        }),
      [Symbol.asyncDispose]: () => handle.close(),
    };
  } catch (error) {
    await handle.close();
    throw toFleetError(error, `opening ${path}`);
  }
};
