import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { FleetError } from '../errors.ts';

/**
 * `mkdir -p`, with the true reason when it fails: Node calls a read-only disk "no such file or directory".
 * @throws FleetError IO where a file is in the way; otherwise the system's error
 */
export const makeDirectory = async (path: string, mode?: number): Promise<void> => {
  try {
    await mkdir(path, { recursive: true, ...(mode !== undefined && { mode }) });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOTDIR' || code === 'EEXIST') {
      throw new FleetError('IO', `${path} cannot be a folder: a file is in the way`, {
        cause: error,
        hint: 'Name another folder, or move the file',
      });
    }
    throw code === 'ENOENT' ? await trueReason(path, error) : error;
  }
};

/** What the system says about the first folder that is missing. */
const trueReason = async (path: string, otherwise: unknown): Promise<unknown> => {
  try {
    await mkdir(path);
    return otherwise;
  } catch (error) {
    const above = dirname(path);
    const missing = (error as NodeJS.ErrnoException).code === 'ENOENT' && above !== path;
    return missing ? trueReason(above, otherwise) : error;
  }
};
