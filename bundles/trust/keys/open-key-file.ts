import { open } from 'node:fs/promises';
import { FleetError, isFleetError, toFleetError } from '../../errors.ts';
import { loadSigningKey, type SigningKey } from './key.ts';
import { encodePem } from './pem.ts';
import { checkPrivate } from './check-private.ts';
import { decryptKey, isEncryptedKey } from './cosign-key.ts';
import { namingFile } from './naming-file.ts';
import type { Passwords } from './passwords.ts';
import { plainLines } from './plain-lines.ts';

/** Text of a key file, still encrypted if the file is. */
export type KeyText = { readonly file: string; readonly text: string; readonly encrypted: boolean };

export type KeyQuestion = {
  /** 'release key', for messages. */
  readonly what: string;
  /** Hint for the error if there is no file. */
  readonly hint?: string | undefined;
};

const MAX_BYTES = 65_536;
/** Attempts to type a password. */
const TRIES = 3;

/** A private key from a plain PKCS#8 file or an encrypted one of cosign. @throws FleetError as readKeyText, unlockKey */
export const openKeyFile = async (
  file: string,
  question: KeyQuestion,
  passwords: Passwords,
): Promise<SigningKey> => unlockKey(await readKeyText(file, question), passwords);

/** @throws FleetError KEY_MISSING, KEY_FORMAT, PERMISSION where others can read a plain key */
export const readKeyText = async (
  file: string,
  { what, hint }: KeyQuestion,
  mayBeExposed = false,
): Promise<KeyText> => {
  try {
    await using handle = await open(file, 'r');
    const stat = await handle.stat();
    if (stat.size > MAX_BYTES)
      throw new FleetError('KEY_FORMAT', 'this is too large for a key', { at: { file } });
    const text = plainLines(await handle.readFile('utf8'));
    const encrypted = isEncryptedKey(text);
    if (!mayBeExposed) checkPrivateKey(text, file);
    if (!encrypted && !mayBeExposed) checkPrivate(stat, file, `the ${what}, which is not encrypted,`);
    return { file, text, encrypted };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw toFleetError(error, `reading ${file}`);
    throw new FleetError('KEY_MISSING', `there is no ${what} at ${file}`, hint === undefined ? {} : { hint });
  }
};

/** Before an error asks to hide a file that need not be hidden. @throws FleetError KEY_FORMAT */
const checkPrivateKey = (text: string, file: string): void => {
  const label = /^-----BEGIN (PUBLIC KEY|CERTIFICATE)-----$/m.exec(text)?.[1];
  if (label === undefined || text.includes('PRIVATE KEY-----')) return;
  const said = label === 'CERTIFICATE' ? 'a certificate' : 'a public key';
  throw new FleetError('KEY_FORMAT', `this is ${said}, which cannot sign`, {
    at: { file },
    hint: 'Give the file of the private key that belongs to it',
  });
};

/** @throws FleetError KEY_FORMAT, KEY_LOCKED, naming the file */
export const unlockKey = async (key: KeyText, passwords: Passwords): Promise<SigningKey> => {
  const pem = await unlockPem(key, passwords);
  return namingFile(key.file, () => loadSigningKey(pem));
};

/** The key as plain PKCS#8 PEM. @throws FleetError KEY_FORMAT, KEY_LOCKED, naming the file */
export const unlockPem = async (
  { file, text, encrypted }: KeyText,
  passwords: Passwords,
): Promise<string> => {
  if (!encrypted) return text;
  for (let left = TRIES; ; left -= 1) {
    const password = await passwords.open(file);
    try {
      return namingFile(file, () => encodePem('PRIVATE KEY', decryptKey(text, password)));
    } catch (error) {
      // Only a typed password can differ at the next attempt.
      if (!isFleetError(error, 'KEY_LOCKED') || !passwords.typed || left === 1) throw error;
    }
  }
};
