import { createHash } from 'node:crypto';
import { isRecord } from '#bundles/is-record';
import { openValue, unreadable } from './sops-value.ts';

/** The `sops` block of an encrypted document, as far as an age reader needs it. */
export type SopsMetadata = {
  readonly stanzas: readonly string[];
  readonly lastModified: string;
  readonly mac: string;
  /** The MAC is over the encrypted values only. */
  readonly encryptedOnly: boolean;
};

/** @returns undefined for a document that is not encrypted: it has no `sops` with a `mac` @throws FleetError SECRET_UNREADABLE */
export const readSopsMetadata = (document: unknown): SopsMetadata | undefined => {
  const sops = isRecord(document) ? document['sops'] : undefined;
  if (!isRecord(sops) || typeof sops['mac'] !== 'string') return undefined;
  const { mac, lastmodified } = sops;
  if (typeof lastmodified !== 'string') throw unreadable('its sops block does not say when it was made');
  return {
    stanzas: stanzasOf(sops),
    lastModified: lastmodified,
    mac,
    encryptedOnly: sops['mac_only_encrypted'] === true,
  };
};

/**
 * One key group, of which any key opens the file. Files with several groups (Shamir shares) are not supported: an agent has one
 * key.
 */
const stanzasOf = (sops: { readonly [field: string]: unknown }): readonly string[] => {
  const groups = Array.isArray(sops['key_groups']) ? (sops['key_groups'] as readonly unknown[]) : [];
  if (groups.length > 1) throw unreadable('it needs keys of several groups');
  const [group = sops] = groups;
  const age = isRecord(group) && Array.isArray(group['age']) ? (group['age'] as readonly unknown[]) : [];
  return age.flatMap((one) => (isRecord(one) && typeof one['enc'] === 'string' ? one['enc'] : []));
};

/** @throws FleetError SECRET_UNREADABLE if the identity is not one of its recipients */
export const dataKeyOf = async ({ stanzas }: SopsMetadata, identity: string): Promise<Uint8Array> => {
  // Large, and needed by few: loaded here (age-identity.ts).
  const { armor, Decrypter } = await import('age-encryption');
  const decrypter = new Decrypter();
  decrypter.addIdentity(identity);
  for (const text of stanzas) {
    try {
      const key = await decrypter.decrypt(armor.decode(text.trim()));
      if (key.byteLength === 32) return key;
    } catch {
      // Another recipient's.
    }
  }
  throw unreadable('it is not encrypted to this agent');
};

/** @param digest of all values, as SOPS computes it: SHA-512 in capital hex digits @throws FleetError SECRET_UNREADABLE */
export const checkMac = ({ mac, lastModified }: SopsMetadata, digest: string, key: Uint8Array): void => {
  const said = openValue(mac, key, lastModified).bytes.toString();
  if (said !== digest) throw unreadable('it was changed after it was encrypted');
};

/** Initial bytes of the hash for a MAC over encrypted values only: SHA-256 of 'sops'. */
export const ENCRYPTED_ONLY = createHash('sha256').update('sops').digest();
