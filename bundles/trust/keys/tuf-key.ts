import { Key } from '@tufjs/models';
import { digestOf, hexOf } from '../../digest.ts';
import { FleetError } from '../../errors.ts';
import { type PublicKey, parsePublicKey } from './key.ts';

const SCHEME = 'ecdsa-sha2-nistp256';
/** TUF 1.0.31 writes 'ecdsa'; older tools repeat the scheme. */
const KEY_TYPES = ['ecdsa', SCHEME];

/**
 * TUF 1.0.31 section 4.2.1: SHA-256 of the key's canonical form. That form is OLPC canonical JSON, where the line
 * breaks of the PEM stand as they are; a PEM has nothing else that would need escaping.
 */
export const tufKeyId = (key: PublicKey): string =>
  hexOf(digestOf(`{"keytype":"ecdsa","keyval":{"public":"${key.pem}"},"scheme":"${SCHEME}"}`));

export const toTufKey = (key: PublicKey): Key =>
  new Key({ keyID: tufKeyId(key), keyType: 'ecdsa', scheme: SCHEME, keyVal: { public: key.pem } });

/** Several keys as TUF lists them: by key id, each once. */
export const toTufKeys = (keys: readonly PublicKey[]): Record<string, Key> =>
  Object.fromEntries(keys.map((key) => [tufKeyId(key), toTufKey(key)]));

/** A P-256 key out of a TUF key, written in the one usual way. @throws FleetError ROOT_FORMAT */
export const fromTufKey = (key: Key): PublicKey => {
  const said = `the root's key ${key.keyID.slice(0, 16)}`;
  if (!KEY_TYPES.includes(key.keyType) || key.scheme !== SCHEME) {
    throw new FleetError('ROOT_FORMAT', `${said} is not of the scheme ${SCHEME}`);
  }
  const pem = key.keyVal['public'] ?? '';
  try {
    return parsePublicKey(pem);
  } catch (cause) {
    throw new FleetError('ROOT_FORMAT', `${said} is not a plain, uncompressed P-256 public key in PEM`, {
      cause,
    });
  }
};

/** Each key once under one id: a threshold counts ids, so a key with two would sign for two (attack M32). */
export const fromTufKeys = (keys: Readonly<Record<string, Key>>, what: string): Map<string, PublicKey> => {
  const parsed = new Map(Object.entries(keys).map(([id, key]) => [id, fromTufKey(key)]));
  if (new Set([...parsed.values()].map(({ hint }) => hint)).size !== parsed.size) {
    throw new FleetError('ROOT_FORMAT', `the root lists one public key under two ids in ${what}`);
  }
  return parsed;
};
