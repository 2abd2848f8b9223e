import { FleetError } from '#bundles/errors';
import { readPublicFile } from '#bundles/trust/keys/read-public-file';
import type { PublicKey } from '#bundles/trust/keys/key';
import { keyOf, type RootRole } from './root-roles.ts';

/** Reads the public keys of one role. @throws FleetError KEY_MISSING, KEY_FORMAT; USAGE if two files have the same key */
export const readPublicKeys = async (
  role: RootRole,
  files: readonly string[],
): Promise<readonly PublicKey[]> => {
  const known = new Map<string, string>();
  const keys: PublicKey[] = [];
  for (const file of files) {
    const key = await readPublicFile(file);
    const before = known.get(key.hint);
    if (before !== undefined) {
      throw new FleetError('USAGE', `${before} and ${file} are the same ${keyOf(role)}`, {
        hint: 'Each key counts once; ask its owner for the right file',
      });
    }
    known.set(key.hint, file);
    keys.push(key);
  }
  return keys;
};
