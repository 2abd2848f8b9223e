import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError, toFleetError } from '#bundles/errors';
import { namingFile } from '#bundles/trust/keys/naming-file';
import { type KeyText, unlockKey } from '#bundles/trust/keys/open-key-file';
import { type Passwords, passwordsFrom } from '#bundles/trust/keys/passwords';
import { processTerminal } from '#bundles/trust/keys/terminal';
import { type Authority, parseCertificate } from '#bundles/trust/root/certificate';
import { fingerprint, type SigningKey } from '#bundles/trust/keys/key';
import { advanceRoot, parseRoot, type TrustRoot } from '#bundles/trust/root/root';
import { type KeyPlace, openKeyPlace } from './places/key-place.ts';
import { type KeyName, type KeyRole, readKeyPlaces } from './places/read-key-places.ts';
import { isRootFile, rootFileName } from './places/root-file.ts';

/**
 * A directory with `<version>.root.json` for every root of the fleet, `<role>.key` (plain PKCS#8 or encrypted by cosign) for
 * local signing keys, `ca.key` for the agents' certificate authority, and keys.yaml for keys stored elsewhere. Only the roots
 * are required: each key is opened when it is first needed.
 */
export type KeyDirectory = {
  /** All roots, oldest first: a site that was offline for years needs the whole chain. */
  readonly roots: readonly TrustRoot[];
  readonly root: TrustRoot;
  /**
   * Opens the key of a role and checks that the newest root accepts it; sites would reject signatures by any other key.
   * @throws FleetError KEY_MISSING, KEY_FORMAT, KEY_LOCKED, PERMISSION, UNKNOWN_KEY
   */
  readonly key: (role: KeyRole) => Promise<SigningKey>;
  /** Socket of the signer process that holds the key of a role; undefined: the key is elsewhere. */
  readonly signerOf: (role: KeyRole) => string | undefined;
  /** Opens the authority that issues certificates for agents and the hub. @throws FleetError as `key` */
  readonly authority: () => Promise<Authority>;
};

/** Returns the password source of an encrypted key. A key's own password file takes precedence over the environment. */
export type PasswordsFor = (file: string | undefined) => Passwords;

/** Passwords from the environment and the terminal of this process. */
export const processPasswords: PasswordsFor = (file) =>
  passwordsFrom({ file, env: process.env, terminal: processTerminal() });

/**
 * Reads the roots and key places of a directory. No key is opened yet.
 * @throws FleetError KEY_MISSING if there is no root; CONFIG_INVALID, PERMISSION for keys.yaml; ROOT_FORMAT,
 *   ROOT_THRESHOLD_NEW for an invalid root; ROOT_VERSION, ROOT_FLEET, ROOT_THRESHOLD_OLD, EQUIVOCATION if the roots do not
 *   form a chain
 */
export const openKeyDirectory = async (
  directory: string,
  passwordsFor: PasswordsFor = processPasswords,
): Promise<KeyDirectory> => {
  const names = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR')
      throw toFleetError(error, `reading ${directory}`);
    return [];
  });
  const roots = await Promise.all(names.filter(isRootFile).map((name) => readRootFile(directory, name)));
  const sorted = roots.toSorted((a, b) => a.version - b.version);
  const root = sorted.at(-1);
  if (!root) {
    throw new FleetError('KEY_MISSING', `${directory} holds no trust root`, {
      hint: "Put the officers' root there with: fleet-scheduler root install 1.root.json --keys <directory>; or make one for trying things out: root init --dev --fleet <name> --keys <directory>",
    });
  }
  checkChain(sorted, directory);
  const placeOf = await readKeyPlaces(directory);
  const unlock = unlockOnce();
  const open = (role: KeyName, what: string, hint?: string): Promise<SigningKey> =>
    openKeyPlace(placeOf(role), { role, what, hint, passwordsFor, unlock });
  return {
    roots: sorted,
    root,
    key: async (role) =>
      checkCounted(
        root,
        role,
        placeOf(role),
        await open(role, `${role} key`, role === 'audit' ? AUDIT_HINT : LOST_HINT),
      ),
    signerOf: (role) => {
      const place = placeOf(role);
      return place.kind === 'signer' ? place.socket : undefined;
    },
    authority: () =>
      findAuthority(root, placeOf('authority'), (hint) =>
        open('authority', "key of the agents' authority", hint),
      ),
  };
};

const LOST_HINT =
  'Put it there, from a backup; if it is lost, the officers sign a root with another key (fleet-scheduler root rotate)';

const AUDIT_HINT =
  'Promotions and decisions are recorded with it. Put it there; a root without one gets one with: fleet-scheduler root rotate <root> --add audit=audit.pub';

/** Caches opened keys: decrypting takes about 0.2 s and may ask for a password. A changed file is opened again. */
const unlockOnce = (): ((key: KeyText, passwords: Passwords) => Promise<SigningKey>) => {
  const known = new Map<string, { readonly text: string; readonly key: Promise<SigningKey> }>();
  return (key, passwords) => {
    if (!key.encrypted) return unlockKey(key, passwords);
    const before = known.get(key.file);
    if (before?.text === key.text) return before.key;
    const opened = { text: key.text, key: unlockKey(key, passwords) };
    known.set(key.file, opened);
    opened.key.catch(() => known.get(key.file) === opened && known.delete(key.file));
    return opened.key;
  };
};

const findAuthority = async (
  root: TrustRoot,
  place: KeyPlace,
  open: (hint: string) => Promise<SigningKey>,
): Promise<Authority> => {
  const whose = `root ${root.version} of fleet ${root.fleet}`;
  const hint = root.dev
    ? 'A development root gets one with: fleet-scheduler root add-authority --keys <directory>'
    : 'Officers give a root one with: fleet-scheduler root ca, and root rotate --authority';
  if (root.agentCertificates.length === 0)
    throw new FleetError('KEY_MISSING', `${whose} has no authority for agents`, { hint });
  const key = await open(hint);
  const certificate = root.agentCertificates.find((pem) =>
    parseCertificate(pem, "the root's authority").publicKey.equals(key.public.object),
  );
  if (certificate !== undefined) return { certificate, key };
  throw new FleetError('UNKNOWN_KEY', `${whose} does not count this key of an authority`, {
    at: place.kind === 'file' ? { file: place.file } : undefined,
    hint: "Use the ca.key that belongs to the root; agents would refuse the hub's certificate",
  });
};

/** @throws FleetError ROOT_FORMAT, ROOT_THRESHOLD_NEW, naming the file; ROOT_VERSION if its name has another version */
const readRootFile = async (directory: string, name: string): Promise<TrustRoot> => {
  const file = join(directory, name);
  const bytes = await readFile(file).catch((error: unknown) => {
    throw toFleetError(error, `reading ${file}`);
  });
  const root = namingFile(file, () => parseRoot(bytes));
  if (name === rootFileName(root.version)) return root;
  throw new FleetError('ROOT_VERSION', `it holds version ${root.version} of the root`, {
    at: { file },
    hint: `Its name must be ${rootFileName(root.version)}`,
  });
};

/** Checks that the roots form a chain. Agents would not follow a root that was copied here and does not. */
const checkChain = ([first, ...next]: readonly TrustRoot[], directory: string): void => {
  try {
    if (first) advanceRoot(first, next);
  } catch (error) {
    const { code, message, subject, cause } = toFleetError(error);
    throw new FleetError(code, message, {
      subject,
      at: { file: directory },
      cause,
      hint: 'Remove the wrong file, and install roots with: fleet-scheduler root install',
    });
  }
};

const checkCounted = (root: TrustRoot, role: KeyRole, place: KeyPlace, key: SigningKey): SigningKey => {
  const counted = role === 'receipt' || role === 'audit' ? root[role] : root.roles[role].keys;
  if (counted.some(({ hint }) => hint === key.public.hint)) return key;
  throw new FleetError(
    'UNKNOWN_KEY',
    `root ${root.version} of fleet ${root.fleet} does not count this ${role} key`,
    {
      subject: fingerprint(key.public),
      at: place.kind === 'file' ? { file: place.file } : undefined,
      hint: `Use the ${role} key that belongs to the root, or install the root that counts this one: fleet-scheduler root install; agents would refuse its signatures`,
    },
  );
};

/**
 * Checks, before anything is written, that the keys of these roles are available and accepted by the newest root.
 * @throws FleetError as KeyDirectory.key
 */
export const checkSigners = async (
  { key }: KeyDirectory,
  roles: readonly ('bundle' | 'release')[],
): Promise<void> => {
  for (const role of roles) await key(role);
};
