import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Digest, digestFromHex } from '#bundles/digest';
import { syncDirectory } from '#bundles/formats/layout/sync-directory';
import type { Pruned } from '../../../model/target.ts';
import { errno, hostError } from '../host-error.ts';

/** The folder for copies of replaced files, and its limits. */
export type BackupLimits = {
  readonly backups: string;
  /** Upper bound on the total size of all copies, in bytes. */
  readonly maxBackupBytes: number;
  /** Copies that a package restores when it is removed. They are never deleted to make room. */
  readonly pinnedBackups: () => ReadonlySet<Digest>;
};

/** Upper bound on the number of copies, since each takes an inode. Copies that packages restore are not counted. */
const MAX_UNPINNED = 1_000;
/** The name of a copy is its digest. */
const COPY = /^[0-9a-f]{64}$/;

type Copy = {
  readonly file: string;
  readonly digest: Digest;
  readonly size: number;
  readonly mtimeMs: number;
};

/**
 * Removes the oldest copies that no package restores until `bytes` more fit. Returns false and removes nothing if they would not fit
 * even then. @throws FleetError PERMISSION, IO
 */
export const ensureRoom = async (limits: BackupLimits, bytes: number): Promise<boolean> => {
  const copies = await readCopies(limits);
  const { leaving, left } = chooseRemoved(limits, copies, bytes);
  if (left + bytes > limits.maxBackupBytes) return false;
  await remove(limits.backups, leaving);
  return true;
};

/** Removes copies that no package restores: all of them, or the oldest above the limits. @throws FleetError PERMISSION, IO */
export const pruneBackups = async (limits: BackupLimits, which: 'all' | 'too many'): Promise<Pruned> => {
  const copies = await readCopies(limits);
  const leaving = which === 'all' ? copies.loose : chooseRemoved(limits, copies, 0).leaving;
  await remove(limits.backups, leaving);
  return { files: leaving.length, bytes: sizeOf(leaving) };
};

type Copies = { readonly kept: readonly Copy[]; readonly loose: readonly Copy[] };

const chooseRemoved = (
  { maxBackupBytes }: BackupLimits,
  { kept, loose }: Copies,
  bytes: number,
): { readonly leaving: readonly Copy[]; readonly left: number } => {
  let left = sizeOf(kept) + sizeOf(loose);
  let count = loose.length;
  const leaving = loose.filter(({ size }) => {
    if (left + bytes <= maxBackupBytes && count < MAX_UNPINNED) return false;
    left -= size;
    count -= 1;
    return true;
  });
  return { leaving, left };
};

/** Sorted by age, oldest first. */
const readCopies = async ({ backups, pinnedBackups }: BackupLimits): Promise<Copies> => {
  try {
    const copies: Copy[] = [];
    for (const name of (await readdir(backups)).filter((entry) => COPY.test(entry))) {
      const file = join(backups, name);
      const { size, mtimeMs } = await stat(file);
      copies.push({ file, digest: digestFromHex(name), size, mtimeMs });
    }
    const pinned = pinnedBackups();
    const oldest = copies.toSorted((a, b) => a.mtimeMs - b.mtimeMs);
    return {
      kept: oldest.filter(({ digest }) => pinned.has(digest)),
      loose: oldest.filter(({ digest }) => !pinned.has(digest)),
    };
  } catch (error) {
    if (errno(error) === 'ENOENT') return { kept: [], loose: [] };
    throw hostError(error, `reading ${backups}`);
  }
};

const remove = async (backups: string, copies: readonly Copy[]): Promise<void> => {
  try {
    for (const { file } of copies) await rm(file, { force: true });
    if (copies.length > 0) await syncDirectory(backups);
  } catch (error) {
    throw hostError(error, `removing copies from ${backups}`);
  }
};

const sizeOf = (copies: readonly Copy[]): number => copies.reduce((sum, { size }) => sum + size, 0);
