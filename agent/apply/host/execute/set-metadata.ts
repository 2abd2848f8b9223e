import type { Stats } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { FleetError } from '#bundles/errors';
import { isOwnedByUs } from '#bundles/file-protection';
import { hostError } from '../host-error.ts';
import type { Ids } from '../live/accounts.ts';
import { octal } from '../owned/octal.ts';

export type Metadata = { readonly mode: number; readonly owner: Ids | null };

/** Bits by which users other than the owner read or write. */
const READ_OR_WRITE = 0o066;

/**
 * Sets owner and mode of an open file or directory. FAT, exFAT and network shares accept any mode and keep that of the mount, without an
 * error. Returns the mode that the entry has then.
 * @throws FleetError PERMISSION, APPLY_FAILED if the owner is not kept, or more users can read or write the entry than the mode says
 */
export const setMetadata = async (file: FileHandle, metadata: Metadata, path: string): Promise<number> => {
  const { mode, owner } = metadata;
  if (owner) await changeOwner(file, owner, path);
  await file.chmod(mode);
  const stats = await file.stat();
  refuseOpenMode(stats, mode, path);
  if (owner && (stats.uid !== owner.uid || stats.gid !== owner.gid)) throw ownerError(stats, owner, path);
  return stats.mode & 0o7777;
};

/** Makes the checks of setMetadata on a new file of mode 0600, before it has any content. @throws FleetError APPLY_FAILED */
export const refuseUnkept = async (
  file: FileHandle,
  { mode, owner }: Metadata,
  path: string,
): Promise<void> => {
  const stats = await file.stat();
  refuseOpenMode(stats, mode, path);
  if (owner && stats.uid !== owner.uid && !isOwnedByUs(stats.uid)) throw ownerError(stats, owner, path);
};

const changeOwner = async (file: FileHandle, { uid, gid }: Ids, path: string): Promise<void> => {
  try {
    await file.chown(uid, gid);
  } catch (error) {
    throw hostError(error, `giving ${path} the owner ${uid}:${gid}`);
  }
};

const refuseOpenMode = ({ mode: live }: Stats, mode: number, path: string): void => {
  if ((live & ~mode & READ_OR_WRITE) === 0) return;
  throw new FleetError(
    'APPLY_FAILED',
    `${path} would be open to more users than the package says: its file system gives it mode ${octal(live & 0o7777)} instead of ${octal(mode)}`,
    { hint: 'Mount the file system with a umask, or write the mode that the mount gives into the package' },
  );
};

const ownerError = (live: Ids, owner: Ids, path: string): FleetError =>
  new FleetError(
    'APPLY_FAILED',
    `the file system of ${path} gives it the owner ${live.uid}:${live.gid} instead of ${owner.uid}:${owner.gid}`,
    {
      hint: 'Mount the file system with uid and gid of the owner, or write the owner that the mount gives into the package',
    },
  );
