import type { KeyObject } from 'node:crypto';

/** SubjectPublicKeyInfo of P-256 by named curve, up to the 04 of an uncompressed point (RFC 5480). */
const HEAD = Buffer.from('3059301306072a8648ce3d020106082a8648ce3d03010703420004', 'hex');
const LENGTH = HEAD.length + 64;

/**
 * Is the key written in the one usual way? OpenSSL also reads and keeps compressed and hybrid points, and each form
 * hashes to another hint: one key could count twice towards a threshold, or walk past a deny list by hint.
 */
export const isPlainKey = (key: KeyObject): boolean => {
  const der = key.export({ type: 'spki', format: 'der' });
  return der.length === LENGTH && der.subarray(0, HEAD.length).equals(HEAD);
};
