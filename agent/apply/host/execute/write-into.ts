import { constants } from 'node:fs';
import { chown, lchown, open, rename, rm, symlink } from 'node:fs/promises';
import { FleetError } from '#bundles/errors';
import { hostError } from '../host-error.ts';
import type { Ids } from '../live/accounts.ts';
import type { Folder } from '../live/open-folder.ts';
import { temporaryName } from '../live/temporary-name.ts';
import { writeAll, writeBehind } from '#bundles/formats/layout/write-behind';
import { isOwnedByUs } from '#bundles/file-protection';

export type Metadata = { readonly mode: number; readonly owner: Ids | null };

/**
 * Writes a file at `name` atomically: at any time, and after a power failure, a reader sees the old file or the new one with its
 * owner and mode (checklist H2).
 */
export const writeInto = async (
  folder: Folder,
  name: string,
  content: Uint8Array | AsyncIterable<Uint8Array>,
  { mode, owner }: Metadata,
  path: string,
): Promise<void> => {
  const temporary = folder.at(temporaryName(name));
  try {
    await rm(temporary, { force: true });
    {
      // Readable by no other user until owner and mode are set.
      await using file = await open(temporary, 'wx', 0o600);
      await (content instanceof Uint8Array
        ? file.writeFile(content)
        : writeBehind(content, (chunks) => writeAll(file, chunks)));
      if (owner) await file.chown(owner.uid, owner.gid);
      await file.chmod(mode);
      await file.sync();
    }
    await rename(temporary, folder.at(name));
    await folder.sync();
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {});
    throw hostError(error, `writing ${path}`);
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
