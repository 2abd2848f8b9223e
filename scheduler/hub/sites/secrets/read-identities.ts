import { readFile } from 'node:fs/promises';
import { FleetError } from '#bundles/errors';
import { unlessMissing } from '#bundles/unless-missing';
import { recipientOf } from '#bundles/trust/age/recipient';

const MAX_BYTES = 64 << 10;

/**
 * Reads the age identities in a file written by age-keygen: one per line, comments begin with #. Errors never quote the file.
 * @throws FleetError KEY_MISSING, KEY_FORMAT, PERMISSION
 */
export const readIdentities = async (file: string): Promise<readonly string[]> => {
  const lines = (await readText(file))
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'));
  if (lines.length === 0) throw noIdentity(file);
  for (const line of lines) {
    await recipientOf(line).catch(() => {
      throw noIdentity(file);
    });
  }
  return lines;
};

const readText = async (file: string): Promise<string> => {
  const bytes = await unlessMissing(readFile(file), `reading ${file}`);
  if (!bytes) throw new FleetError('KEY_MISSING', `there is no identity file ${file}`);
  if (bytes.byteLength > MAX_BYTES) throw noIdentity(file);
  return bytes.toString('utf8');
};

const noIdentity = (file: string): FleetError =>
  new FleetError('KEY_FORMAT', `${file} is not a file of age identities`, {
    hint: 'It has lines that begin with AGE-SECRET-KEY-1, as age-keygen writes them; decrypt it first if it has a passphrase',
  });
