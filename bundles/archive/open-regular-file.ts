import { constants } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { FleetError } from '../errors.ts';

/**
 * Opens a file for reading. A pipe is not waited for, and what turns out to be no regular file is closed and refused.
 * @param flags of open(2) beside that, such as O_NOFOLLOW @throws FleetError MEDIUM_INVALID; otherwise the system's error
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
