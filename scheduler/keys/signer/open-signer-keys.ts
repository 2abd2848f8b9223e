import type { Authority } from '#bundles/trust/root/certificate';
import type { SigningKey } from '#bundles/trust/keys/key';
import type { KeyDirectory } from '../key-directory.ts';
import type { SignerRole } from '../remote/protocol.ts';

export type SignerKeys = {
  readonly keys: ReadonlyMap<SignerRole, SigningKey>;
  readonly authority: Authority | undefined;
};

/**
 * Opens the keys of these roles once, so that passwords are requested only at the start.
 * @throws FleetError KEY_MISSING, KEY_FORMAT, KEY_LOCKED, PERMISSION; UNKNOWN_KEY if the newest root does not accept a key
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
