import { readFile } from 'node:fs/promises';
import { FleetError, toFleetError } from '#bundles/errors';

/** The first line of a file with a password or token. @throws FleetError CONFIG_INVALID for a missing file or an empty line */
export const readSecretLine = async (file: string): Promise<string> => {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT')
      throw new FleetError('CONFIG_INVALID', 'there is no such file with a secret', { at: { file } });
    throw toFleetError(error, `reading ${file}`);
  });
  const [secret = ''] = text.split(/\r?\n/, 1);
  if (secret !== '') return secret;
  throw new FleetError('CONFIG_INVALID', 'the first line is empty, it should be a secret', {
    at: { file, line: 1 },
  });
};
