import { constants } from 'node:fs';
import { chmod, chown, copyFile, type FileHandle, lchown, open, rename, rm, symlink } from 'node:fs/promises';
import { FleetError } from '#bundles/errors';
import type { StoredBlob } from '../desired/read-wanted.ts';
import { hostError } from '../host-error.ts';
import type { Ids } from '../live/accounts.ts';
import type { Folder } from '../live/open-folder.ts';
import { noteWritten } from '../live/read-entry.ts';
import { readUpTo } from '../live/read-up-to.ts';
import { temporaryName } from '../live/temporary-name.ts';
import { type Metadata, refuseUnkept, setMetadata } from './set-metadata.ts';
import { verifyAll } from '#bundles/formats/layout/verified';
import { writeAll, writeBehind } from '#bundles/formats/layout/write-behind';
import { isOwnedByUs } from '#bundles/file-protection';

/** Verified bytes, or a blob that is verified when it is copied. */
export type NewContent =
  | Uint8Array
  | AsyncIterable<Uint8Array>
  | (StoredBlob & { readonly signal: AbortSignal });

/** copyFile takes a path, and only Linux names an open file by one. */
export const CAN_COPY = process.platform === 'linux';

/**
 * Writes a file at `name` atomically: at any time, and after a power failure, a reader sees the old file or the new one with its
 * owner and mode (checklist H2). Returns the mode that the file system made of it.
 */
export const writeInto = async (
  folder: Folder,
  name: string,
  content: NewContent,
  metadata: Metadata,
  path: string,
): Promise<number> => {
  const temporary = folder.at(temporaryName(name));
  try {
    await rm(temporary, { force: true });
    // Readable by no other user until owner and mode are set.
    await using file = await open(temporary, 'wx+', 0o600);
    await refuseUnkept(file, metadata, path);
    await fill(file, content);
    const mode = await setMetadata(file, metadata, path);
    await file.sync();
    await rename(temporary, folder.at(name));
    await folder.sync();
    if ('digest' in content) await noteWritten(file, content);
    return mode;
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {});
    throw hostError(error, `writing ${path}`);
  }
};

const fill = async (file: FileHandle, content: NewContent): Promise<void> => {
  if (content instanceof Uint8Array) return await file.writeFile(content);
  if ('digest' in content) return await copyStored(file, content);
  await writeBehind(content, (chunks) => writeAll(file, chunks));
};

/**
 * The kernel copies the bytes, or lets both files share them where the file system can. Verified is the copy, which is what the host gets,
 * while it goes to the disk.
 * @throws FleetError SIZE_MISMATCH, DIGEST_MISMATCH
 */
const copyStored = async (
  file: FileHandle,
  { path, digest, size, store, signal }: StoredBlob & { readonly signal: AbortSignal },
): Promise<void> => {
  // The copy gets the mode of the blob.
  await chmod(path, 0o600);
  await copyFile(path, `/proc/self/fd/${file.fd}`, constants.COPYFILE_FICLONE);
  const syncing = file.datasync();
  // Awaited below, also after another failure.
  syncing.catch(() => {});
  try {
    const pieces = readUpTo(file, { maxBytes: size + 1, signal }, size);
    await verifyAll({ digest, size }, pieces, store);
  } finally {
    await syncing;
  }
};

/** As writeInto, for a symbolic link. */
export const linkInto = async (
  folder: Folder,
  name: string,
  target: string,
  owner: Ids | null,
  path: string,
): Promise<void> => {
  const temporary = folder.at(temporaryName(name));
  try {
    await rm(temporary, { force: true });
    await symlink(target, temporary);
    if (owner) await changeLinkOwner(temporary, owner, path);
    await rename(temporary, folder.at(name));
    await folder.sync();
  } catch (error) {
    throw hostError(error, `writing the link ${path}`);
  }
};

/** O_PATH of Linux: a descriptor of an entry, also of a link, without opening it. Node has no constant for it. */
const O_PATH = 0o10000000;

/**
 * Changes the owner of a symbolic link that we created. In a directory where others can rename entries the name may refer to another
 * file by now, so on Linux the call goes through a descriptor of the link. @throws FleetError APPLY_FAILED
 */
const changeLinkOwner = async (name: string, { uid, gid }: Ids, path: string): Promise<void> => {
  if (process.platform !== 'linux') return await lchown(name, uid, gid);
  await using held = await open(name, O_PATH | constants.O_NOFOLLOW);
  const stats = await held.stat();
  if (!stats.isSymbolicLink() || !isOwnedByUs(stats.uid))
    throw new FleetError('APPLY_FAILED', `${path} was replaced while it was written`, {
      hint: 'Run it again',
    });
  await chown(`/proc/self/fd/${held.fd}`, uid, gid);
};
