import { createHmac, hkdfSync } from 'node:crypto';
import type { KeyedHash } from '../model/package-secrets.ts';

const PURPOSE = 'fleet-ferry: comparison of secrets';

/**
 * Returns an HMAC function keyed by this agent's age identity, because a plain digest of a short password can be reversed by
 * trying passwords (security.md section 6).
 */
export const keyedHash = (identity: string): KeyedHash => {
  const key = Buffer.from(hkdfSync('sha256', identity, '', PURPOSE, 32));
  return (content) => `hmac-sha256:${createHmac('sha256', key).update(content).digest('hex')}`;
};
