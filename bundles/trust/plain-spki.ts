import { encodePem } from './pem.ts';

/** SubjectPublicKeyInfo of P-256 by named curve, up to the 04 of an uncompressed point (RFC 5480). */
const HEAD = Buffer.from('3059301306072a8648ce3d020106082a8648ce3d03010703420004', 'hex');
const LENGTH = HEAD.length + 64;
/** As text: 178 characters and a line end; more is something else. */
const MAX_TEXT = 256;

/**
 * The bytes of a P-256 key whose PEM is written in the one usual way, to the letter; undefined for every other text. OpenSSL
 * also reads and keeps compressed and hybrid points, and each form hashes to another hint: one key could count twice
 * towards a threshold, or walk past a deny list by hint. Whether the point is on the curve is not asked here.
 */
export const plainSpki = (pem: string): Buffer | undefined => {
  const text = pem.trimEnd();
  if (text.length > MAX_TEXT) return undefined;
  const der = Buffer.from(text.split('\n').slice(1, -1).join(''), 'base64');
  const isPlain = der.length === LENGTH && der.subarray(0, HEAD.length).equals(HEAD);
  return isPlain && encodePem('PUBLIC KEY', der).trimEnd() === text ? der : undefined;
};
