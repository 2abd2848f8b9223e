import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { FleetError } from '../../errors.ts';

/**
 * Opens a regular file for reading, without blocking on a pipe.
 * @param flags further flags of open(2), such as O_NOFOLLOW
 * @throws FleetError MEDIUM_INVALID when it is not a regular file; otherwise the system's error
 */
export const openRegularFile = async (path: string, flags = 0): Promise<FileHandle> => {
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | flags);
  try {
    if ((await handle.stat()).isFile()) return handle;
    throw new FleetError('MEDIUM_INVALID', `${path} is not a file`);
  } catch (error) {
    await handle.close();
    throw error;
  }
};
