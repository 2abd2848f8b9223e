import { resolve } from 'node:path';
import { type Passwords, passwordsFrom } from '#bundles/trust/keys/passwords';
import type { SigningKey } from '#bundles/trust/keys/key';
import { openKeyPlace } from './key-place.ts';
import { readKeyPlace } from './read-key-places.ts';

/**
 * Opens the key given with --key.
 * @param what name of the key in messages, such as "officer's key"
 * @throws FleetError KEY_MISSING, KEY_FORMAT, KEY_LOCKED, PERMISSION, CONFIG_INVALID, SIGNER_UNREACHABLE
 */
export const openGivenKey = async (
  file: string,
  { what, role, passwords }: { readonly what: string; readonly role: string; readonly passwords: Passwords },
): Promise<SigningKey> =>
  openKeyPlace(await readKeyPlace(resolve(file)), {
    what,
    role,
    passwordsFor: (own) => (own === undefined ? passwords : passwordsFrom({ file: own, env: {} })),
  });
