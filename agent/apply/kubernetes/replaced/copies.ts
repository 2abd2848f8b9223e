import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseExactJson, writeExactJson } from '#bundles/json/exact-json';
import { parseJson } from '#bundles/json/parse-json';
import { type Digest, digestOf, hexOf } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { writeFileAtomically } from '#bundles/formats/layout/write-file';
import { type BackupLimits, ensureRoom } from '../../host/backups/ensure-room.ts';
import { errno } from '../../host/host-error.ts';
import type { LiveObject } from '../api/kubernetes-api.ts';
import { nameOf } from '../api/open-kubernetes-api.ts';

/** Storage for copies of adopted objects, in the folder for copies of host files. */
export type CopyPlace = BackupLimits & {
  /** The agent's age identity, to which copies of Secrets are sealed. undefined: Secrets are not copied. */
  readonly identity: () => Promise<string | undefined>;
};

/** The name of a copy. It does not depend on the content, which may be newer than the plan. */
export const copyName = (key: string, { metadata }: LiveObject): Digest =>
  digestOf(`${key} ${metadata.uid ?? ''}`);

/**
 * Copies an object durably, without its status, before the first write to it.
 * @returns true if a copy exists now @throws FleetError APPLY_FAILED if it exceeds `replacedMib`; DISK_FULL, IO
 */
export const keepCopy = async (place: CopyPlace, name: Digest, live: LiveObject): Promise<boolean> => {
  const { status: _, ...object } = live;
  const plain = Buffer.from(writeExactJson(object));
  const bytes = live.kind === 'Secret' ? await seal(place, plain) : plain;
  if (!bytes) return false;
  if (!(await ensureRoom(place, bytes.byteLength))) {
    throw new FleetError(
      'APPLY_FAILED',
      `${nameOf({ ...live, ...live.metadata })} was there before the package, and a copy of it does not fit into the room for copies`,
      { hint: 'Raise replacedMib in the configuration of the agent' },
    );
  }
  await writeFileAtomically(fileOf(place, name), bytes, 0o600);
  return true;
};

/** Reads a copy; undefined if none was made or it was deleted. @throws FleetError KEY_FORMAT, IO */
export const readCopy = async (place: CopyPlace, name: Digest): Promise<LiveObject | undefined> => {
  const bytes = await readFile(fileOf(place, name)).catch((error: unknown) => {
    if (errno(error) !== 'ENOENT') throw error;
    return undefined;
  });
  return bytes && (parseExactJson((await open(place, bytes)).toString(), parseJson) as LiveObject);
};

const fileOf = ({ backups }: CopyPlace, name: Digest): string => join(backups, hexOf(name));

const MAGIC = 'age-encryption.org/v1\n';

// Loaded on demand, because the age library takes 20 MB of memory.
const seal = async ({ identity }: CopyPlace, plain: Buffer): Promise<Uint8Array | undefined> => {
  const own = await identity();
  if (own === undefined) return undefined;
  const { Encrypter, identityToRecipient } = await import('age-encryption');
  const encrypter = new Encrypter();
  encrypter.addRecipient(await identityToRecipient(own));
  return encrypter.encrypt(plain);
};

const open = async ({ identity }: CopyPlace, bytes: Buffer): Promise<Buffer> => {
  if (bytes.subarray(0, MAGIC.length).toString('latin1') !== MAGIC) return bytes;
  const { Decrypter } = await import('age-encryption');
  const decrypter = new Decrypter();
  decrypter.addIdentity((await identity()) ?? '');
  return Buffer.from(await decrypter.decrypt(bytes));
};
