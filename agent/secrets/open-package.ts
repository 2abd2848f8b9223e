import { parseHostPackage } from '#bundles/formats/bundle/host-package';
import { FleetError, isFleetError } from '#bundles/errors';
import { readBlob } from '#bundles/formats/layout/verified';
import { MAX_SEALED_BYTES, type SealedSet, type SecretSet } from '#bundles/trust/secrets/secret-set';
import { ageFile, findAgeIdentity } from '../hub/age-identity.ts';
import { readIdentity } from '../store/identity.ts';
import type { PackageRef } from '../store/applied/package-ref.ts';
import type { State } from '../store/state.ts';
import { type Identity, openManifests } from './open-manifests.ts';
import type { KeyedHash, PackageSecrets } from '../model/package-secrets.ts';
import { openBinary } from './sops-binary.ts';
import { createHmac, hkdfSync } from 'node:crypto';

export type Opened = {
  readonly files: ReadonlyMap<string, Buffer>;
  /** undefined: the package has no secrets. */
  readonly secrets: PackageSecrets | undefined;
};

/**
 * Opens the sealed sets and SOPS files of a package with this agent's age identity, in memory only.
 * @param files verified files of the package @param namespace namespace of its assignment
 * @throws FleetError SECRET_UNREADABLE, WRONG_SITE, WRONG_FLEET, SUBJECT_MISMATCH; MISSING_BLOB when the store lost a set
 */
export const openPackage = async (
  state: State,
  ref: PackageRef,
  files: ReadonlyMap<string, Buffer>,
  namespace: string | undefined,
  signal: AbortSignal,
): Promise<Opened> => {
  const identity = identityOf(state.directory);
  const sealed = ref.secrets ?? [];
  const opened =
    ref.kind === 'kubernetes'
      ? await openManifests(files, namespace, identity)
      : await openHostFiles(files, identity);
  if (sealed.length === 0 && opened.decrypted.size === 0) return { files, secrets: undefined };
  const sets = new Map<string, SecretSet>();
  for (const set of sealed) sets.set(set.name, await openSet(state, set, await identity(), signal));
  return {
    files: opened.files,
    secrets: { sealed, sets, decrypted: opened.decrypted, hash: keyedHash(await identity()) },
  };
};

const identityOf = (directory: string): Identity => {
  let known: Promise<string | undefined> | undefined;
  return async () => {
    known ??= findAgeIdentity(directory);
    const identity = await known;
    if (identity !== undefined && (await isIdentity(identity))) return identity;
    const why = identity === undefined ? 'is not there' : 'is damaged';
    throw new FleetError('SECRET_UNREADABLE', `the age identity ${ageFile(directory)} ${why}`, {
      hint: 'Restore it from a backup and retry, or write the request again with "fleet-agent enroll" and have the secrets sealed to it',
    });
  };
};

/** Checks the form of an age identity. The parser's error is dropped, because it may quote the identity. */
const isIdentity = async (text: string): Promise<boolean> => {
  const { Decrypter } = await import('age-encryption');
  try {
    new Decrypter().addIdentity(text);
    return true;
  } catch {
    return false;
  }
};

const openSet = async (
  state: State,
  { name, digest }: SealedSet,
  identity: string,
  signal: AbortSignal,
): Promise<SecretSet> => {
  const { fleet, site } = readIdentity(state);
  const bytes = await readBlob(state.blobs, digest, MAX_SEALED_BYTES, signal);
  // Loaded on demand, because the module is large and rarely needed (age-identity.ts).
  const { openSecretSet } = await import('#bundles/trust/secrets/open');
  return openSecretSet(bytes, identity, { fleet, site, name });
};

/** Decrypts the files that package.json lists as secrets. An invalid package.json is reported by its next reader. */
const openHostFiles = async (files: ReadonlyMap<string, Buffer>, identity: Identity) => {
  const opened = new Map(files);
  const decrypted = new Set<string>();
  for (const content of encryptedContents(files)) {
    const bytes = files.get(content);
    if (bytes === undefined || decrypted.has(content)) continue;
    try {
      opened.set(content, await openBinary(bytes, await identity()));
    } catch (cause) {
      if (!isFleetError(cause, 'SECRET_UNREADABLE')) throw cause;
      throw new FleetError('SECRET_UNREADABLE', `${content} cannot be decrypted: ${cause.message}`, {
        hint:
          cause.hint ?? 'Encrypt it with SOPS to the recipients of this site as well, and release it again',
      });
    }
    decrypted.add(content);
  }
  return { files: opened, decrypted };
};

const encryptedContents = (files: ReadonlyMap<string, Buffer>): readonly string[] => {
  const document = files.get('package.json');
  if (!document?.includes('"secrets"')) return [];
  try {
    return (parseHostPackage(document).secrets ?? []).flatMap((it) => ('content' in it ? it.content : []));
  } catch (error) {
    if (isFleetError(error)) return [];
    throw error;
  }
};

const PURPOSE = 'fleet-ferry: comparison of secrets';

/**
 * Returns an HMAC function keyed by this agent's age identity, because a plain digest of a short password can be reversed by
 * trying passwords (security.md section 6).
 */
export const keyedHash = (identity: string): KeyedHash => {
  const key = Buffer.from(hkdfSync('sha256', identity, '', PURPOSE, 32));
  return (content) => `hmac-sha256:${createHmac('sha256', key).update(content).digest('hex')}`;
};
