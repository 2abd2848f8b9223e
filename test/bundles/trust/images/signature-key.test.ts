import { generateKeyPairSync, sign } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { signatureKey, verifiesWith } from '#bundles/trust/images/signature-key';
import { verdict } from '../../verdict.ts';

const pemOf = (key: { export: (options: { type: 'spki'; format: 'pem' }) => string | Buffer }): string =>
  key.export({ type: 'spki', format: 'pem' }).toString();
const p256 = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 });

describe('a public key for image signatures', () => {
  it.each([
    ['ECDSA P-256', p256],
    ['RSA', rsa],
  ])('is accepted and verifies: %s', (_, pair) => {
    const key = signatureKey(pemOf(pair.publicKey));
    const signature = sign('sha256', Buffer.from('payload'), pair.privateKey);
    expect(verifiesWith(key, Buffer.from('payload'), signature)).toBe(true);
    expect(verifiesWith(key, Buffer.from('another'), signature)).toBe(false);
    expect(verifiesWith(key, Buffer.from('payload'), Buffer.from('no signature'))).toBe(false);
  });

  it('is normalised: CRLF and blank lines do not change it', () => {
    const pem = pemOf(p256.publicKey);
    expect(signatureKey(`\n${pem.replaceAll('\n', '\r\n')}\n\n`).pem).toBe(pem);
  });

  it.each([
    ['P-384', pemOf(generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey)],
    ['Ed25519', pemOf(generateKeyPairSync('ed25519').publicKey)],
    ['a short RSA key', pemOf(generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey)],
    ['a private key', p256.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()],
    ['no key', 'cosign.pub'],
  ])('is refused: %s', async (_, pem) => {
    expect(await verdict(() => signatureKey(pem))).toBe('KEY_FORMAT');
  });
});
