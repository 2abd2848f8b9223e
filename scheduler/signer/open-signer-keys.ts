import type { Authority } from '#bundles/trust/certificate';
import type { SigningKey } from '#bundles/trust/key';
import type { KeyDirectory } from '../sign/key-directory.ts';
import type { SignerRole } from './protocol.ts';

export type SignerKeys = {
  readonly keys: ReadonlyMap<SignerRole, SigningKey>;
  readonly authority: Authority | undefined;
};

/**
 * The keys of these roles, opened once: a password is asked for at the start and never again.
 * @throws FleetError KEY_MISSING, KEY_FORMAT ...; UNKNOWN_KEY for one that the newest root does not count
 */
export const openSignerKeys = async (
  directory: KeyDirectory,
  roles: readonly SignerRole[],
): Promise<SignerKeys> => {
  const keys = new Map<SignerRole, SigningKey>();
  let authority: Authority | undefined;
  for (const role of roles) {
    if (role === 'authority') {
      authority = await directory.authority();
      keys.set(role, authority.key);
      continue;
    }
    keys.set(role, await directory.key(role));
  }
  return { keys, authority };
};
