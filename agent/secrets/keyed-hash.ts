import { createHmac, hkdfSync } from 'node:crypto';
import type { KeyedHash } from './package-secrets.ts';

const PURPOSE = 'fleet-ferry: comparison of secrets';

/**
 * A digest of secrets that is of no use without this agent's age identity: a plain one of a short password would be the
 * password (security.md section 6).
 */
export const keyedHash = (identity: string): KeyedHash => {
  const key = Buffer.from(hkdfSync('sha256', identity, '', PURPOSE, 32));
  return (content) => `hmac-sha256:${createHmac('sha256', key).update(content).digest('hex')}`;
};
