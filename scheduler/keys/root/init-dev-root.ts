import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError, toFleetError } from '#bundles/errors';
import { createDirectory } from '#bundles/formats/layout/create-directory';
import { addDays } from '#bundles/time';
import { generatePrivateKey, loadSigningKey, type PublicKey, type SigningKey } from '#bundles/trust/keys/key';
import { createRoot, parseRoot, type TrustRoot } from '#bundles/trust/root/root';
import { AUTHORITY_FILE, KEY_ROLES, type KeyRole } from '../places/read-key-places.ts';
import { isRootFile, rootFileName } from '../places/root-file.ts';
import { writeKeyFile } from '../places/write-key-file.ts';
import { issueAuthority } from './issue-authority.ts';

/** Validity of a development root. */
const DEV_ROOT_DAYS = 365;

/**
 * Creates a development root with one officer, and one new key per role. Programs that read it warn that it is one.
 * @param approvers further keys of the bundle role, for people who approve promotions
 * @throws FleetError ALREADY_ENROLLED if the directory already has a root
 */
export const initDevRoot = async (
  directory: string,
  fleet: string,
  now: Date,
  approvers: readonly PublicKey[] = [],
): Promise<TrustRoot> => {
  await createDirectory(directory, 0o700).catch((error: unknown) => {
    throw toFleetError(error, `making ${directory}`);
  });
  if ((await readdir(directory)).some(isRootFile)) {
    throw new FleetError('ALREADY_ENROLLED', `${directory} already holds a trust root`, {
      hint: 'Choose another directory; agents that know the old root would refuse a new one',
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
        bundle: [keys.bundle.public, ...approvers],
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
  await writeFile(join(directory, rootFileName(1)), bytes, { flag: 'wx' });
  return parseRoot(bytes);
};
