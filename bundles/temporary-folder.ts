import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FleetError, toFleetError } from './errors.ts';

/** Creates an empty folder for the time of a step and returns its path; the caller removes it. @throws FleetError IO, DISK_FULL, PERMISSION */
export const createTemporaryFolder = (prefix: string): Promise<string> =>
  mkdtemp(join(tmpdir(), prefix)).catch((error: NodeJS.ErrnoException) => {
    const doing = `making a folder in ${tmpdir()}`;
    if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') throw toFleetError(error, doing);
    throw new FleetError('IO', `${doing}: there is no such directory`, {
      cause: error,
      hint: 'Set TMPDIR to one that exists',
    });
  });
