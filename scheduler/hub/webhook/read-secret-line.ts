import { FleetError } from '#bundles/errors';
import { readGivenFile } from '#bundles/read-given-file';

/**
 * The first line of a file with a password, token or shared secret. @param content for the message about a missing file
 * @throws FleetError CONFIG_INVALID for a missing file, an empty line, and one that is not text, as of a key in DER or an archive; PERMISSION, IO
 */
export const readSecretLine = async (file: string, content = 'a secret'): Promise<string> => {
  const text = await readGivenFile(file, content);
  const [secret = ''] = text.split(/\r?\n/, 1);
  if (secret !== '' && !/[\p{Cc}\uFFFD]/u.test(secret)) return secret;
  const found = secret === '' ? 'empty' : 'not text';
  throw new FleetError('CONFIG_INVALID', `the first line is ${found}, it should be a secret`, {
    at: { file, line: 1 },
  });
};
