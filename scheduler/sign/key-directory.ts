import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError, toFleetError } from '#bundles/errors';
import { namingFile } from '#bundles/keys/naming-file';
import { type KeyText, unlockKey } from '#bundles/keys/open-key-file';
import { type Passwords, passwordsFrom } from '#bundles/keys/passwords';
import { processTerminal } from '#bundles/keys/terminal';
import { type Authority, parseCertificate } from '#bundles/trust/certificate';
import { fingerprint, type SigningKey } from '#bundles/trust/key';
import { advanceRoot, parseRoot, type TrustRoot } from '#bundles/trust/root';
import { type KeyPlace, openKeyPlace } from '../keys/key-place.ts';
import { type KeyName, type KeyRole, readKeyPlaces } from '../keys/read-key-places.ts';
import { isRootFile, rootFileName } from '../keys/root-file.ts';

/**
 * A directory with `<version>.root.json` for every root ever, `<role>.key` (plain PKCS#8 or encrypted by cosign) for what
 * signs here, `ca.key` for what issues the agents' certificates, and keys.yaml for keys that are elsewhere. All but the
 * roots may be missing: a key is looked for when it is needed.
 */
export type KeyDirectory = {
  /** All roots, oldest first: a site that was away for years needs the whole chain. */
  readonly roots: readonly TrustRoot[];
  readonly root: TrustRoot;
  /**
   * A key that the newest root counts: what another one signs would be refused at every site.
   * @throws FleetError KEY_MISSING, KEY_FORMAT, KEY_LOCKED, PERMISSION, UNKNOWN_KEY
   */
  readonly key: (role: KeyRole) => Promise<SigningKey>;
  /** What issues certificates for agents and for the hub. @throws FleetError as key, UNKNOWN_KEY */
  readonly authority: () => Promise<Authority>;
};

/** By what passwords encrypted keys are opened; a file of its own goes before the process's environment. */
export type PasswordsFor = (file: string | undefined) => Passwords;

/** The environment and the terminal of this program. */
export const processPasswords: PasswordsFor = (file) =>
  passwordsFrom({ file, env: process.env, terminal: processTerminal() });

/**
 * @throws FleetError KEY_MISSING when there is no root, CONFIG_INVALID for keys.yaml, those of parseRoot, and of advanceRoot for
 *   roots that do not follow each other
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
    key: async (role) => checkCounted(root, role, placeOf(role), await open(role, `${role} key`)),
    authority: () =>
      findAuthority(root, placeOf('authority'), (hint) =>
        open('authority', "key of the agents' authority", hint),
      ),
  };
};

/** Opening an encrypted key takes a fifth of a second and maybe a person; a file that was changed is opened again. */
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
    ...(place.kind === 'file' && { at: { file: place.file } }),
    hint: "Use the ca.key that belongs to the root; agents would refuse the hub's certificate",
  });
};

/** @throws FleetError those of parseRoot, naming the file; ROOT_VERSION when its name says another version */
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

/** A root that was copied here by hand may follow nothing: agents would stay with the one before it. */
const checkChain = ([first, ...next]: readonly TrustRoot[], directory: string): void => {
  try {
    if (first) advanceRoot(first, next);
  } catch (error) {
    const { code, message, subject, cause } = toFleetError(error);
    throw new FleetError(code, message, {
      subject,
      at: { file: directory },
      cause,
      hint: 'Take the wrong file away, and put roots there with: fleet-scheduler root install',
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
      ...(place.kind === 'file' && { at: { file: place.file } }),
      hint: `Use the ${role} key that belongs to the root, or install the root that counts this one: fleet-scheduler root install; agents would refuse what it signs`,
    },
  );
};

/**
 * Before anything is written: the keys of these roles are here, and the newest root counts them.
 * @throws FleetError as KeyDirectory.key
 */
export const checkSigners = async (
  { key }: KeyDirectory,
  roles: readonly ('bundle' | 'release')[],
): Promise<void> => {
  for (const role of roles) await key(role);
};
