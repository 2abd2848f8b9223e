import { open } from 'node:fs/promises';
import { checkWriters } from './check-writers.ts';
import { FleetError, toFleetError } from './errors.ts';

/**
 * Reads a text file that a flag, a variable or a configuration names. @param content for the message: 'a secret'
 * @throws FleetError CONFIG_INVALID for a missing file; PERMISSION where others can change it, too; IO
 */
export const readGivenFile = async (file: string, content?: string): Promise<string> => {
  try {
    await using handle = await open(file, 'r');
    checkWriters(await handle.stat(), file);
    return await handle.readFile('utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') {
      const message = `there is no such file${content === undefined ? '' : ` with ${content}`}`;
      throw new FleetError('CONFIG_INVALID', message, { at: { file } });
    }
    throw toFleetError(error, `reading ${file}`);
  }
};
