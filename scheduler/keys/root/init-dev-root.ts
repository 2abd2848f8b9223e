import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError, toFleetError } from '#bundles/errors';
import { createDirectory } from '#bundles/formats/layout/create-directory';
import { addDays } from '#bundles/time';
import type { PublicKey, SigningKey } from '#bundles/trust/keys/key';
import { createRoot, parseRoot, type TrustRoot } from '#bundles/trust/root/root';
import { AUTHORITY_FILE, KEY_ROLES, type KeyRole } from '../places/read-key-places.ts';
import { isRootFile, rootFileName } from '../places/root-file.ts';
import { writeNew } from '../places/write-key-file.ts';
import { keyAt } from './key-at.ts';
import { issueAuthority } from './issue-authority.ts';

/** Validity of a development root. */
const DEV_ROOT_DAYS = 365;

/**
 * Creates a development root with one officer, and one new key per role. Programs that read it warn that it is one. If interrupted, the
 * same call continues, with the keys that are there.
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
  const keys = {} as Record<KeyRole, SigningKey>;
  for (const role of KEY_ROLES) keys[role] = await keyAt(join(directory, `${role}.key`), `${role} key`);
  const authority = await keyAt(join(directory, AUTHORITY_FILE), "key of the agents' authority");
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
      agentCertificates: [await issueAuthority(fleet, authority, now)],
      dev: true,
    },
    [keys.root],
  );
  await writeNew(join(directory, rootFileName(1)), bytes);
  return parseRoot(bytes);
};
