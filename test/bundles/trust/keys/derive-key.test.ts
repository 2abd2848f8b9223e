import { createPublicKey } from 'node:crypto';
import { expect, test } from 'vitest';
import { parsePublicKey, verifySignature } from '#bundles/trust/keys/key';
import { deriveSigningKey } from '#bundles/trust/keys/derive-key';

/**
 * Calculated with Python 3.11 and `cryptography` 48: HKDF(SHA256, 40, salt=None, info), `% (n - 1) + 1`,
 * `ec.derive_private_key`.
 */
const CALCULATED = [
  [
    'ffe_aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa',
    'fleet-ferry token proof v1',
    '1a2e00895b6fae2cd773c709eaa3b62e5f7f418e7d03a8500cfa65f97e6b11a59add136593083fef9e06009779c46cd2262c20cc7f10ac0d6417d2be68e829fd',
  ],
  [
    'ffe_Zm9vYmFyYmF6cXV4MTIzNDU2Nzg5MDEy',
    'fleet-ferry token proof v1',
    '9016f4fd4566d0126cbf03df474b8f3c4845a7dd6b08b0b1ee495cbeb721de10d9036000bcce3e836b6926b9e21fcb4480dc05801e33d8a1bc14ea386a6123f3',
  ],
  [
    '',
    'other',
    'f0258b561771f40efc311a7cde83e82c3eb34dd1a001008448f88ef63b3fb5fd0cfe13b8ea19a836dd9319490882eaa986ccb5b193e3b16bc1722064c6084c1d',
  ],
] as const;

test.each(CALCULATED)(
  'the key of %s for %s is what another implementation calculates',
  async (secret, purpose, spki) => {
    const key = deriveSigningKey(secret, purpose);
    const der = createPublicKey(key.public.pem).export({ type: 'spki', format: 'der' });
    expect(der.subarray(27).toString('hex')).toBe(spki);
    const text = Buffer.from('text');
    expect(verifySignature(parsePublicKey(key.public.pem), text, await key.sign(text))).toBe(true);
  },
);
