import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Flips one byte in the middle of the statement about a bundle on a stick, as a defect or an attacker would.
 * @returns the name of the blob
 */
export const tamper = async (stick: string): Promise<string> => {
  const { documents } = JSON.parse(await readFile(join(stick, 'fleet', 'medium.json'), 'utf8')) as {
    readonly documents: readonly { readonly role: string; readonly digest: string; readonly size: number }[];
  };
  const statement = documents.find(({ role }) => role === 'bundle');
  if (!statement) throw new Error(`there is no statement about a bundle on ${stick}`);
  const [, name = ''] = statement.digest.split(':');
  const middle = Math.floor(statement.size / 2);
  await using file = await open(join(stick, 'blobs', 'sha256', name), 'r+');
  const byte = Buffer.alloc(1);
  await file.read(byte, 0, 1, middle);
  byte[0] = (byte[0] ?? 0) ^ 0xff;
  await file.write(byte, 0, 1, middle);
  return name;
};
