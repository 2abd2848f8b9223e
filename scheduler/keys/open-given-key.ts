import { resolve } from 'node:path';
import { type Passwords, passwordsFrom } from '#bundles/keys/passwords';
import type { SigningKey } from '#bundles/trust/key';
import { openKeyPlace } from './key-place.ts';
import { readKeyPlace } from './read-key-places.ts';

/** The key of --key. @param what "officer's key", for messages @throws FleetError as openKeyPlace */
export const openGivenKey = async (
  file: string,
  { what, role, passwords }: { readonly what: string; readonly role: string; readonly passwords: Passwords },
): Promise<SigningKey> =>
  openKeyPlace(await readKeyPlace(resolve(file)), {
    what,
    role,
    passwordsFor: (own) => (own === undefined ? passwords : passwordsFrom({ file: own, env: {} })),
  });
