import { createECDH, createPrivateKey, hkdfSync } from 'node:crypto';
import { loadSigningKey, type SigningKey } from './key.ts';

/** Order of the group of P-256 (SEC 2, section 2.4.2). */
const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
/** 64 bits more than the order, so that the remainder has no bias (FIPS 186-5, appendix A.2.1). */
const WIDE_BYTES = 40;

/**
 * The P-256 key that a random secret of at least 128 bits stands for: the secret is enough to sign, and the public key only to
 * check. HKDF-SHA256 of the secret without a salt; `purpose` keeps keys of different uses apart.
 */
export const deriveSigningKey = (secret: string, purpose: string): SigningKey => {
  const wide = Buffer.from(hkdfSync('sha256', secret, '', purpose, WIDE_BYTES)).toString('hex');
  const scalar = (BigInt(`0x${wide}`) % (ORDER - 1n)) + 1n;
  const d = Buffer.from(scalar.toString(16).padStart(64, '0'), 'hex');
  const curve = createECDH('prime256v1');
  curve.setPrivateKey(d);
  const point = curve.getPublicKey();
  const [x, y, secretPart] = [point.subarray(1, 33), point.subarray(33), d].map((part) =>
    part.toString('base64url'),
  );
  const key = createPrivateKey({
    format: 'jwk',
    key: { kty: 'EC', crv: 'P-256', x: x ?? '', y: y ?? '', d: secretPart ?? '' },
  });
  return loadSigningKey(key.export({ type: 'pkcs8', format: 'pem' }).toString());
};
