import type { Decrypter } from 'age-encryption';
import { FleetError } from '../errors.ts';

/** The reader of age takes 20 MB of memory: it is loaded where it is used. @throws FleetError KEY_FORMAT, without a word of the identity */
export const newDecrypter = async (identities: readonly string[]): Promise<Decrypter> => {
  const { Decrypter } = await import('age-encryption');
  const decrypter = new Decrypter();
  for (const identity of identities) addIdentity(decrypter, identity);
  return decrypter;
};

/** What went wrong with an identity must not be told in its own words: they may be the key. */
const addIdentity = (decrypter: Decrypter, identity: string): void => {
  try {
    decrypter.addIdentity(identity);
  } catch {
    throw new FleetError('KEY_FORMAT', 'the age identity is none', {
      hint: 'It is a line that begins with AGE-SECRET-KEY-1',
    });
  }
};

/** The file is whole so far, and was sealed to others. */
export const isStranger = (error: unknown): boolean =>
  error instanceof Error && /no identity matched/.test(error.message);
