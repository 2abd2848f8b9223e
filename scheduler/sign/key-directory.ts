import { randomBytes } from 'node:crypto';
import { chmod, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError, toFleetError } from '#bundles/errors';
import { makeDirectory } from '#bundles/layout/make-directory';
import { addDays } from '#bundles/time';
import { type Authority, parseCertificate } from '#bundles/trust/certificate';
import { createAuthority } from '#bundles/trust/issue-certificate';
import { generatePrivateKey, loadSigningKey, type SigningKey } from '#bundles/trust/key';
import { createRoot, parseRoot, type TrustRoot } from '#bundles/trust/root';

/** The roles whose keys a key directory may hold; `root` and `audit` are not needed for daily work. */
export const KEY_ROLES = ['root', 'bundle', 'release', 'lease', 'receipt', 'audit'] as const;
export type KeyRole = (typeof KEY_ROLES)[number];

/** The key of the agents' certificate authority; its certificate is in the root. */
export const AUTHORITY_FILE = 'ca.key';

/**
 * A directory with `<version>.root.json` for every root ever, `<role>.key` as plain PKCS#8 for what signs here, and
 * `ca.key` for what issues the agents' certificates.
 */
export type KeyDirectory = {
  /** All roots, oldest first: a site that was away for years needs the whole chain. */
  readonly roots: readonly TrustRoot[];
  readonly root: TrustRoot;
  /** @throws FleetError KEY_MISSING */
  readonly key: (role: KeyRole) => Promise<SigningKey>;
  /** What issues certificates for agents and for the hub. @throws FleetError KEY_MISSING, UNKNOWN_KEY */
  readonly authority: () => Promise<Authority>;
};

const ROOT_FILE = /^(\d{1,9})\.root\.json$/;

/** @throws FleetError KEY_MISSING when there is no root, and those of parseRoot */
export const openKeyDirectory = async (directory: string): Promise<KeyDirectory> => {
  const names = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR')
      throw toFleetError(error, `reading ${directory}`);
    return [];
  });
  const files = names.filter((name) => ROOT_FILE.test(name));
  const roots = await Promise.all(files.map((name) => readRootFile(directory, name)));
  const sorted = roots.toSorted((a, b) => a.version - b.version);
  const root = sorted.at(-1);
  if (!root) {
    throw new FleetError('KEY_MISSING', `${directory} holds no trust root`, {
      hint: 'Make one with: fleet-scheduler root init --dev --fleet <name> --keys <directory>',
    });
  }
  return {
    roots: sorted,
    root,
    key: (role) => readKeyFile(join(directory, `${role}.key`), `${role} key`),
    authority: () => openAuthority(directory, root),
  };
};

/** A plain PKCS#8 file. @throws FleetError KEY_MISSING, KEY_FORMAT */
export const readKeyFile = async (file: string, what: string, hint?: string): Promise<SigningKey> => {
  const pem = await readFile(file, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw toFleetError(error, `reading ${file}`);
    throw new FleetError('KEY_MISSING', `there is no ${what} at ${file}`, hint === undefined ? {} : { hint });
  });
  return named(file, () => loadSigningKey(pem));
};

const openAuthority = async (directory: string, root: TrustRoot): Promise<Authority> => {
  const hint = 'A development root gets one with: fleet-scheduler root add-authority --keys <directory>';
  if (root.agentCertificates.length === 0) {
    throw new FleetError(
      'KEY_MISSING',
      `root ${root.version} of fleet ${root.fleet} has no authority for agents`,
      {
        hint,
      },
    );
  }
  const file = join(directory, AUTHORITY_FILE);
  const key = await readKeyFile(file, "key of the agents' authority", hint);
  const certificate = root.agentCertificates.find((pem) =>
    parseCertificate(pem, "the root's authority").publicKey.equals(key.public.object),
  );
  if (certificate !== undefined) return { certificate, key };
  throw new FleetError('UNKNOWN_KEY', `root ${root.version} of fleet ${root.fleet} does not count this key`, {
    at: { file },
    hint: "Use the ca.key that belongs to the root; agents would refuse the hub's certificate",
  });
};

/** @throws FleetError those of parseRoot, naming the file; ROOT_VERSION when its name says another version */
const readRootFile = async (directory: string, name: string): Promise<TrustRoot> => {
  const file = join(directory, name);
  const bytes = await readFile(file).catch((error: unknown) => {
    throw toFleetError(error, `reading ${file}`);
  });
  const root = named(file, () => parseRoot(bytes));
  if (name === `${root.version}.root.json`) return root;
  throw new FleetError('ROOT_VERSION', `it holds version ${root.version} of the root`, {
    at: { file },
    hint: `Its name must be ${root.version}.root.json`,
  });
};

/** What is wrong with a file says which file. */
const named = <T>(file: string, read: () => T): T => {
  try {
    return read();
  } catch (error) {
    const { code, message, subject, hint, cause } = toFleetError(error);
    throw new FleetError(code, message, { subject, at: { file }, hint, cause });
  }
};

/**
 * Before anything is written: the keys of these roles are here, and the newest root counts them. What another key signs
 * would be refused at every site.
 * @throws FleetError KEY_MISSING, KEY_FORMAT, UNKNOWN_KEY
 */
export const checkSigners = async (
  { root, key }: KeyDirectory,
  roles: readonly ('bundle' | 'release')[],
): Promise<void> => {
  for (const role of roles) {
    const { hint } = (await key(role)).public;
    if (root.roles[role].keys.some((known) => known.hint === hint)) continue;
    throw new FleetError(
      'UNKNOWN_KEY',
      `root ${root.version} of fleet ${root.fleet} does not count this ${role} key`,
      {
        hint: `Use the ${role} key that belongs to the root; agents would refuse what this one signs`,
      },
    );
  }
};

/** Years a development root is good for; a real one is at most two. */
const DEV_ROOT_DAYS = 365;

/**
 * A root of one officer and one key a role, for trying things out: everything that reads it says so.
 * @throws FleetError ALREADY_ENROLLED when the directory holds a root already
 */
export const initDevRoot = async (directory: string, fleet: string, now: Date): Promise<TrustRoot> => {
  await makeDirectory(directory, 0o700).catch((error: unknown) => {
    throw toFleetError(error, `making ${directory}`);
  });
  if ((await readdir(directory)).some((name) => ROOT_FILE.test(name))) {
    throw new FleetError('ALREADY_ENROLLED', `${directory} already holds a trust root`, {
      hint: 'Take another directory; agents that know the old root would refuse a new one',
    });
  }
  const pems = KEY_ROLES.map((role) => [role, generatePrivateKey()] as const);
  for (const [role, pem] of pems) await writeKeyFile(join(directory, `${role}.key`), pem);
  const authority = generatePrivateKey();
  await writeKeyFile(join(directory, AUTHORITY_FILE), authority);
  const keys = Object.fromEntries(pems.map(([role, pem]) => [role, loadSigningKey(pem)])) as Record<
    KeyRole,
    SigningKey
  >;
  const bytes = await createRoot(
    {
      fleet,
      version: 1,
      expires: addDays(now, DEV_ROOT_DAYS),
      keys: {
        root: [keys.root.public],
        bundle: [keys.bundle.public],
        release: [keys.release.public],
        lease: [keys.lease.public],
        receipt: [keys.receipt.public],
        audit: [keys.audit.public],
      },
      agentCertificates: [await issueAuthority(fleet, loadSigningKey(authority), now)],
      dev: true,
    },
    [keys.root],
  );
  await writeFile(join(directory, '1.root.json'), bytes, { flag: 'wx' });
  return parseRoot(bytes);
};

export const writeKeyFile = async (file: string, pem: string): Promise<void> => {
  await writeFile(file, pem, { mode: 0o600, flag: 'wx' });
  await chmod(file, 0o600);
};

export const issueAuthority = (fleet: string, key: SigningKey, now: Date): Promise<string> =>
  createAuthority(fleet, key, { now, serial: randomBytes(16) });
