import { createPrivateKey } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { decryptKey, encryptKey, isEncryptedKey, RANDOM_BYTES } from '#bundles/trust/keys/cosign-key';
import { loadSigningKey } from '#bundles/trust/keys/key';
import { encodePem } from '#bundles/trust/keys/pem';
import { refusal } from '../../refusal.ts';
import {
  COSIGN_KEY,
  COSIGN_PASSWORD,
  COSIGN_PUBLIC,
  PLAIN_KEY as pem,
  LOCKED_KEY as sealed,
  WRITTEN_KEY,
} from './fixtures.ts';

/** Reading and writing one takes scrypt a fifth of a second, and half of it with the settings of `sealed`. */
const der = createPrivateKey(pem).export({ type: 'pkcs8', format: 'der' });
const random = new Uint8Array(RANDOM_BYTES).map((_, index) => index);

const jsonOf = (text: string) =>
  JSON.parse(Buffer.from(text.split('\n').slice(1, -2).join(''), 'base64').toString());
const asFile = (json: unknown, label = 'ENCRYPTED SIGSTORE PRIVATE KEY'): string =>
  encodePem(label, Buffer.from(JSON.stringify(json)));
/** Looked at before scrypt runs: a wrong password would be KEY_LOCKED, and take its time. */
const refusalOf = (text: string) => refusal(() => decryptKey(text, 'correct horse'));

describe('an encrypted key file', { timeout: 60_000 }, () => {
  it('is decrypted with its password to the same key, and is deterministic for the same randomness', () => {
    expect(isEncryptedKey(WRITTEN_KEY)).toBe(true);
    expect(decryptKey(WRITTEN_KEY, 'correct horse').equals(der)).toBe(true);
    expect(encryptKey(der, 'correct horse', random)).toBe(WRITTEN_KEY);
  });

  it("has cosign's format and parameters, and no plain key material", () => {
    expect(jsonOf(WRITTEN_KEY)).toMatchObject({
      kdf: { name: 'scrypt', params: { N: 65_536, r: 8, p: 1 } },
      cipher: { name: 'nacl/secretbox' },
    });
    expect(Object.keys(jsonOf(WRITTEN_KEY))).toEqual(Object.keys(jsonOf(COSIGN_KEY)));
    expect(WRITTEN_KEY).not.toContain(pem.split('\n')[1]);
  });

  it('of cosign 3.1.1 is decrypted', () => {
    const key = loadSigningKey(encodePem('PRIVATE KEY', decryptKey(COSIGN_KEY, COSIGN_PASSWORD)));
    expect(key.public.pem).toBe(COSIGN_PUBLIC);
  });

  it('with the older PEM label COSIGN is decrypted, too', () => {
    const old = sealed.replaceAll('SIGSTORE', 'COSIGN');
    expect(isEncryptedKey(old)).toBe(true);
    expect(decryptKey(old, 'correct horse').equals(der)).toBe(true);
  });

  it('is refused with a wrong password, or when a byte was changed: KEY_LOCKED', () => {
    expect(refusal(() => decryptKey(sealed, 'Correct horse'))).toBe('KEY_LOCKED');
    const json = jsonOf(sealed);
    const bytes = Buffer.from(json.ciphertext, 'base64');
    bytes[40] = (bytes[40] ?? 0) ^ 1;
    expect(refusalOf(asFile({ ...json, ciphertext: bytes.toString('base64') }))).toBe('KEY_LOCKED');
  });

  it.each([
    ['would take a gigabyte of memory', { N: 1_048_576, r: 8, p: 1 }],
    ['would take an hour', { N: 65_536, r: 8, p: 65_536 }],
    ['has another block size', { N: 65_536, r: 1024, p: 1 }],
    ['is cheap to guess', { N: 2, r: 8, p: 1 }],
    ['has a number that is none', { N: '65536', r: 8, p: 1 }],
    ['has no settings', undefined],
  ])('is refused before any computation when it %s', (_why, params) => {
    const { kdf, ...rest } = jsonOf(sealed);
    expect(refusalOf(asFile({ ...rest, kdf: { ...kdf, params } }))).toBe('KEY_FORMAT');
  });

  it.each([
    ['not JSON', encodePem('ENCRYPTED SIGSTORE PRIVATE KEY', Buffer.from('hello'))],
    ['null', asFile(null)],
    ['a null inside', asFile({ kdf: null, cipher: null, ciphertext: null })],
    ['of another label', asFile(jsonOf(sealed), 'PRIVATE KEY')],
    ['cut off', sealed.slice(0, -20)],
    ['two blocks', sealed + sealed],
    ['endless', sealed.replace('\n', `\n${'A'.repeat(20_000)}\n`)],
    ['of another cipher', asFile({ ...jsonOf(sealed), cipher: { name: 'none', nonce: '' } })],
    ['of a short nonce', asFile({ ...jsonOf(sealed), cipher: { name: 'nacl/secretbox', nonce: 'AAAA' } })],
  ])('is refused when it is %s', (_what, text) => {
    expect(refusalOf(text)).toBe('KEY_FORMAT');
  });
});
