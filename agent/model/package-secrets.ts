import { FleetError } from '#bundles/errors';
import type { SealedSet, SecretSet } from '#bundles/trust/secrets/secret-set';

/**
 * The opened secrets of a package, while the package is in memory. They must not be logged, stored or put into a plan, an
 * error or an event (security.md section 6); a `hash` of them may.
 */
export type PackageSecrets = {
  /** The sealed files that were opened; they are part of the package's identity. */
  readonly sealed: readonly SealedSet[];
  readonly sets: ReadonlyMap<string, SecretSet>;
  /** Paths of files that SOPS encrypted and that were decrypted when read from the store. */
  readonly decrypted: ReadonlySet<string>;
  /** HMAC with a key that only this agent has: equal for equal bytes, without revealing them. */
  readonly hash: KeyedHash;
};

export type KeyedHash = (content: string | Uint8Array) => `hmac-sha256:${string}`;

/** @param who the object that needs the set, for the message @throws FleetError SECRET_MISSING */
export const secretSet = (secrets: PackageSecrets | undefined, name: string, who: string): SecretSet => {
  const set = secrets?.sets.get(name);
  if (set) return set;
  throw new FleetError(
    'SECRET_MISSING',
    `${who} wants the secret set ${name}, which this site does not have`,
    {
      subject: name,
      hint: 'Ask the platform team to set it for this site; the package is tried again when it comes',
    },
  );
};

/** One value of a set, decoded. @throws FleetError SECRET_MISSING */
export const secretValue = (
  secrets: PackageSecrets | undefined,
  name: string,
  key: string,
  who: string,
): Buffer => {
  const { values } = secretSet(secrets, name, who);
  const value = Object.hasOwn(values, key) ? values[key] : undefined;
  if (value !== undefined) return Buffer.from(value, 'base64');
  throw new FleetError(
    'SECRET_MISSING',
    `${who} wants key ${key} of the secret set ${name}, which does not have the key`,
    {
      subject: name,
      hint: 'Ask the platform team to add the key; the package is tried again when the set comes',
    },
  );
};
