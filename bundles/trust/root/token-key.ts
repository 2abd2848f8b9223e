import { createHash } from 'node:crypto';
import { deriveSigningKey } from '../keys/derive-key.ts';
import type { SigningKey } from '../keys/key.ts';

/** SHA-256 of a token in hex: what the office keeps of it. 192 random bits need neither salt nor a slow hash. */
export const hashToken = (token: string): string => createHash('sha256').update(token).digest('hex');

/** Public name of a token: the first digits of its hash. */
export const tokenId = (hash: string): string => hash.slice(0, 12);

/**
 * The key with which the holder of a one-time token proves it in a request that others can read (docs/bundle-format.md section 11).
 * The office keeps the public part, so that a copy of its database enrols nobody.
 */
export const tokenKey = (token: string): SigningKey => deriveSigningKey(token, 'fleet-ferry token proof v1');
