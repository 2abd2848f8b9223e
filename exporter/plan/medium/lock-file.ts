import { lstat } from 'node:fs/promises';
import { FleetError, toFleetError } from '#bundles/errors';

/** Name of the lock file in a folder; for a tar the suffix of its name. */
export const LOCK = '.lock';

/** True if the lock file exists: left by a killed run, or held. @throws FleetError MEDIUM_INVALID for a foreign file; PERMISSION, IO */
export const isLock = async (file: string): Promise<boolean> => {
  const found = await lstat(file).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return undefined;
    throw toFleetError(error, `looking at ${file}`);
  });
  if (found === undefined || (found.isFile() && found.size === 0)) return found !== undefined;
  throw new FleetError('MEDIUM_INVALID', `${file} exists and was not written by this program`, {
    hint: 'Move it away, or use another place; it was not changed',
  });
};
