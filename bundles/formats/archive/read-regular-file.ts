import { openRegularFile } from './open-regular-file.ts';

/**
 * Reads a regular file, without blocking on a pipe.
 * @throws FleetError MEDIUM_INVALID when it is not a regular file; otherwise the system's error
 */
export const readRegularFile = async (path: string): Promise<Buffer> => {
  await using file = await openRegularFile(path);
  return await file.readFile();
};
