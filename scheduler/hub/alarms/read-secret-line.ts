import { FleetError } from '#bundles/errors';
import { readGivenFile } from '#bundles/read-given-file';

/** The first line of a file with a password or token. @throws FleetError CONFIG_INVALID for a missing file or an empty line */
export const readSecretLine = async (file: string): Promise<string> => {
  const text = await readGivenFile(file, 'a secret');
  const [secret = ''] = text.split(/\r?\n/, 1);
  if (secret !== '') return secret;
  throw new FleetError('CONFIG_INVALID', 'the first line is empty, it should be a secret', {
    at: { file, line: 1 },
  });
};
