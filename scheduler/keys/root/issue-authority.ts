import { randomBytes } from 'node:crypto';
import { createAuthority } from '#bundles/trust/root/issue-certificate';
import type { SigningKey } from '#bundles/trust/keys/key';

/** Issues the self-signed certificate of the authority for agents and the hub. @returns PEM */
export const issueAuthority = (fleet: string, key: SigningKey, now: Date): Promise<string> =>
  createAuthority(fleet, key, { now, serial: randomBytes(16) });
