import { existsSync } from 'node:fs';
import { generatePrivateKey, type SigningKey } from '#bundles/trust/keys/key';
import { openKeyFile } from '#bundles/trust/keys/open-key-file';
import { writeKeyFile } from '../places/write-key-file.ts';
import { processPasswords } from '../key-directory.ts';

/**
 * The private key in a file, which is made first if it is not there: the same call continues after an interruption.
 * @throws FleetError KEY_FORMAT, KEY_LOCKED, PERMISSION; of writeKeyFile
 */
export const keyAt = async (file: string, what: string): Promise<SigningKey> => {
  if (!existsSync(file)) await writeKeyFile(file, generatePrivateKey());
  return openKeyFile(file, { what }, processPasswords(undefined));
};
