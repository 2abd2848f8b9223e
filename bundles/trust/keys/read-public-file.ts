import { readFile } from 'node:fs/promises';
import { FleetError } from '../../errors.ts';
import { unlessMissing } from '../../unless-missing.ts';
import { type PublicKey, parsePublicKey } from './key.ts';
import { namingFile } from './naming-file.ts';
import { plainLines } from './plain-lines.ts';

/** Public keys are small; a wrong file may be anything. */
const MAX_PUBLIC = 65_536;

/** @throws FleetError KEY_MISSING, KEY_FORMAT, naming the file */
export const readPublicFile = async (file: string): Promise<PublicKey> => {
  const text = await unlessMissing(readFile(file, 'utf8'), `reading ${file}`);
  if (text === undefined)
    throw new FleetError('KEY_MISSING', `there is no public key at ${file}`, {
      hint: 'Write it there with: fleet-scheduler keys public, or openssl pkey -pubout',
    });
  return namingFile(file, () => parsePublicKey(plainLines(text.slice(0, MAX_PUBLIC))));
};
