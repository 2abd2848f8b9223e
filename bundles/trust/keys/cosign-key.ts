import { scryptSync } from 'node:crypto';
import { xsalsa20poly1305 } from '@noble/ciphers/salsa.js';
import { FleetError } from '../../errors.ts';
import { parseStrictJson } from '../../json/strict-json.ts';
import { encodePem } from './pem.ts';

/**
 * Encrypted key files as cosign writes and reads them: PKCS#8 in a NaCl secretbox under a key that scrypt makes of the password,
 * all as JSON in PEM.
 */

const LABEL = 'ENCRYPTED SIGSTORE PRIVATE KEY';
/** The second form is from older versions of cosign. */
const LABELS = [LABEL, 'ENCRYPTED COSIGN PRIVATE KEY'];
const FORM = new RegExp(
  `^-----BEGIN (${LABELS.join('|')})-----\\r?\\n([A-Za-z0-9+/=\\r\\n]+)-----END \\1-----\\s*$`,
);

/** Parameters that cosign writes. */
const SCRYPT = { N: 65_536, r: 8, p: 1 } as const;
/** The three settings that cosign has written and reads: an untrusted file must not choose how much memory scrypt uses. */
const ACCEPTED_N = [32_768, 65_536, 131_072];
const SALT_BYTES = 32;
const NONCE_BYTES = 24;
const KEY_BYTES = 32;
/** A P-256 key has 138 bytes in PKCS#8; the largest RSA key that somebody may try has 2.5 KB. */
const MAX_KEY_BYTES = 4096;
const MAX_FILE_BYTES = 16_384;

export const isEncryptedKey = (text: string): boolean =>
  LABELS.some((label) => text.startsWith(`-----BEGIN ${label}-----`));

/** @param random 56 bytes: salt and nonce. @param der PKCS#8 @returns PEM */
export const encryptKey = (der: Uint8Array, password: string, random: Uint8Array): string => {
  const salt = random.subarray(0, SALT_BYTES);
  const nonce = random.subarray(SALT_BYTES, SALT_BYTES + NONCE_BYTES);
  const key = deriveKey(password, salt, SCRYPT.N);
  const ciphertext = xsalsa20poly1305(key, nonce).encrypt(der);
  const json = {
    kdf: { name: 'scrypt', params: SCRYPT, salt: base64(salt) },
    cipher: { name: 'nacl/secretbox', nonce: base64(nonce) },
    ciphertext: base64(ciphertext),
  };
  return encodePem(LABEL, Buffer.from(JSON.stringify(json)));
};

/** Random bytes for one file. */
export const RANDOM_BYTES = SALT_BYTES + NONCE_BYTES;

/**
 * @returns PKCS#8 DER
 * @throws FleetError KEY_FORMAT when it is not such a file, KEY_LOCKED when the password does not open it
 */
export const decryptKey = (text: string, password: string): Buffer => {
  const { N, salt, nonce, ciphertext } = parseSealed(text);
  const key = deriveKey(password, salt, N);
  try {
    return Buffer.from(xsalsa20poly1305(key, nonce).decrypt(ciphertext));
  } catch (cause) {
    throw new FleetError('KEY_LOCKED', 'the password does not open this key', {
      cause,
      hint: 'Type it again; if it is the right one, the file was damaged: take the copy',
    });
  }
};

type Sealed = {
  readonly N: number;
  readonly salt: Buffer;
  readonly nonce: Buffer;
  readonly ciphertext: Buffer;
};

const parseSealed = (text: string): Sealed => {
  if (text.length > MAX_FILE_BYTES) throw damaged('it is too large');
  const body = FORM.exec(text)?.[2];
  if (body === undefined) throw damaged('it is not one block of PEM');
  const json = readJson(Buffer.from(body.replaceAll(/\s/g, ''), 'base64'));
  const { kdf, cipher, ciphertext } = json;
  const { N, r, p } = kdf?.params ?? {};
  if (kdf?.name !== 'scrypt' || cipher?.name !== 'nacl/secretbox')
    throw damaged('it is encrypted in another way');
  if (!ACCEPTED_N.includes(N as number) || r !== SCRYPT.r || p !== SCRYPT.p)
    throw damaged('cosign does not use its scrypt settings');
  const sealed = {
    N: N as number,
    salt: readBase64(kdf.salt),
    nonce: readBase64(cipher.nonce),
    ciphertext: readBase64(ciphertext),
  };
  if (
    sealed.salt.length !== SALT_BYTES ||
    sealed.nonce.length !== NONCE_BYTES ||
    sealed.ciphertext.length > MAX_KEY_BYTES
  )
    throw damaged('salt, nonce or ciphertext has another length');
  return sealed;
};

type SealedJson = {
  readonly kdf?: {
    readonly name?: unknown;
    readonly params?: { readonly N?: unknown; readonly r?: unknown; readonly p?: unknown };
    readonly salt?: unknown;
  };
  readonly cipher?: { readonly name?: unknown; readonly nonce?: unknown };
  readonly ciphertext?: unknown;
};

const readJson = (bytes: Buffer): SealedJson => {
  try {
    const json = parseStrictJson(bytes, { maxBytes: MAX_FILE_BYTES, maxDepth: 4 }, 'the key');
    return json ?? {};
  } catch (cause) {
    throw damaged('its content is not JSON', cause);
  }
};

const readBase64 = (value: unknown): Buffer => Buffer.from(typeof value === 'string' ? value : '', 'base64');

const base64 = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');

const deriveKey = (password: string, salt: Uint8Array, N: number): Buffer =>
  scryptSync(password, salt, KEY_BYTES, { ...SCRYPT, N, maxmem: 2 * 128 * N * SCRYPT.r });

const damaged = (why: string, cause?: unknown): FleetError =>
  new FleetError('KEY_FORMAT', `this is not an encrypted key file of cosign: ${why}`, { cause });
