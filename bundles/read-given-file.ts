import { readFile } from 'node:fs/promises';
import { FleetError, toFleetError } from './errors.ts';

/**
 * Reads a text file that a flag, a variable or a configuration names. @param content for the message: 'a secret'
 * @throws FleetError CONFIG_INVALID for a missing file; PERMISSION, IO
 */
export const readGivenFile = (file: string, content?: string): Promise<string> =>
  readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') {
      const message = `there is no such file${content === undefined ? '' : ` with ${content}`}`;
      throw new FleetError('CONFIG_INVALID', message, { at: { file } });
    }
    throw toFleetError(error, `reading ${file}`);
  });
