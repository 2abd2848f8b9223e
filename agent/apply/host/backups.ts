import { createHash, randomUUID } from 'node:crypto';
import { constants, createReadStream, type ReadStream } from 'node:fs';
import { access, mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Digest, digestFromHex, hexOf } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { syncDirectory } from '#bundles/layout/sync-directory';
import { hostError } from './host-error.ts';
import type { Folder } from './live/open-folder.ts';

/** A copy cut short has this prefix; backups themselves are named by 64 hex digits. */
const PARTIAL = '.tmp-';

/**
 * Copies a file of the host into the backups folder, by digest, durably: before anything replaces or deletes it.
 * Only root (the agent's user) can read it there, whatever the file's own mode was.
 */
export const backUp = async (
  backups: string,
  folder: Folder,
  name: string,
  path: string,
): Promise<Digest> => {
  try {
    await mkdir(backups, { recursive: true, mode: 0o700 });
    await sweep(backups);
    const temporary = join(backups, `${PARTIAL}${randomUUID().slice(0, 8)}`);
    const hash = createHash('sha256');
    await using from = await open(
      folder.at(name),
      constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
    );
    await using to = await open(temporary, 'wx', 0o600);
    for await (const chunk of from.createReadStream({ autoClose: false, highWaterMark: 1 << 18 })) {
      hash.update(chunk as Buffer);
      await to.writeFile(chunk as Buffer);
    }
    await to.sync();
    const digest = digestFromHex(hash.digest('hex'));
    await rename(temporary, join(backups, hexOf(digest)));
    await syncDirectory(backups);
    return digest;
  } catch (error) {
    throw hostError(error, `saving ${path} before it is replaced`);
  }
};

export const hasBackup = (backups: string, digest: Digest): Promise<boolean> =>
  access(join(backups, hexOf(digest))).then(
    () => true,
    () => false,
  );

/** The bytes that were at `path` once. @throws FleetError APPLY_FAILED when the copy is missing */
export const openBackup = async (backups: string, digest: Digest, path: string): Promise<ReadStream> => {
  if (await hasBackup(backups, digest)) return createReadStream(join(backups, hexOf(digest)));
  throw new FleetError(
    'APPLY_FAILED',
    `what was at ${path} before cannot be put back: its copy ${hexOf(digest)} is missing from ${backups}`,
    { hint: 'Bring the copy back, or remove the file by hand' },
  );
};

const sweep = async (backups: string): Promise<void> => {
  for (const name of await readdir(backups))
    if (name.startsWith(PARTIAL)) await rm(join(backups, name), { force: true });
};
