import { statfs } from 'node:fs/promises';

/** Linux's numbers of file systems that are on a machine's own disk or in its memory (statfs(2)). */
const LOCAL: ReadonlySet<number> = new Set([
  0xef53, // ext2, ext3, ext4
  0x58465342, // XFS
  0x9123683e, // Btrfs
  0x2fc12fc1, // ZFS
  0xf2f52010, // F2FS
  0x01021994, // tmpfs
  0x794c7630, // OverlayFS
]);

/**
 * Whether a folder is on a disk of this machine; undefined where it does not exist or cannot be looked at. A network share may stop answering,
 * and each call to it is a round trip.
 */
export const isOnLocalDisk = async (folder: string): Promise<boolean | undefined> => {
  try {
    return LOCAL.has((await statfs(folder)).type);
  } catch {
    return undefined;
  }
};
