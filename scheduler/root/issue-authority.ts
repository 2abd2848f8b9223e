import { randomBytes } from 'node:crypto';
import { createAuthority } from '#bundles/trust/issue-certificate';
import type { SigningKey } from '#bundles/trust/key';

/** The certificate of the authority that agents and hub get theirs from, by its own key. @returns PEM */
export const issueAuthority = (fleet: string, key: SigningKey, now: Date): Promise<string> =>
  createAuthority(fleet, key, { now, serial: randomBytes(16) });
