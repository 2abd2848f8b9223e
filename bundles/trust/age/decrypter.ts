import type { Decrypter } from 'age-encryption';
import { isX25519Identity, x25519Identity } from './x25519-identity.ts';
import { FleetError } from '../../errors.ts';

/** Loads the age library on first use: it takes 20 MB of memory. @throws FleetError KEY_FORMAT, which does not quote the identity */
export const createDecrypter = async (identities: readonly string[]): Promise<Decrypter> => {
  const { Decrypter } = await import('age-encryption');
  const decrypter = new Decrypter();
  for (const identity of identities) {
    addIdentity(isX25519Identity(identity) ? new Decrypter() : decrypter, identity);
    if (isX25519Identity(identity)) decrypter.addIdentity(x25519Identity(identity));
  }
  return decrypter;
};

/** The error must not quote the identity, which is secret. */
const addIdentity = (decrypter: Decrypter, identity: string): void => {
  try {
    decrypter.addIdentity(identity);
  } catch {
    throw new FleetError('KEY_FORMAT', 'not an age identity', {
      hint: 'It is a line that begins with AGE-SECRET-KEY-1',
    });
  }
};

/** Whether the error says that the file is sealed to other recipients. */
export const isNotRecipient = (error: unknown): boolean =>
  error instanceof Error && /no identity matched/.test(error.message);
