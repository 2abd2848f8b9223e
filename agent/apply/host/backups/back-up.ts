import { createHash, randomUUID } from 'node:crypto';
import { type FileHandle, mkdir, open, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Digest, digestFromHex, hexOf } from '#bundles/digest';
import { syncDirectory } from '#bundles/formats/layout/sync-directory';
import { hostError } from '../host-error.ts';
import { openFile } from '../live/open-file.ts';
import type { Folder } from '../live/open-folder.ts';
import { readUpTo } from '../live/read-up-to.ts';
import { type BackupLimits, ensureRoom } from './ensure-room.ts';

/** Prefix of an unfinished copy. Finished copies are named by 64 hex digits. */
const PARTIAL = '.tmp-';

export type Place = { readonly folder: Folder; readonly name: string; readonly path: string };

/**
 * Copies a file of the host durably into the backups folder, under its digest, before the file is replaced or deleted. The copy
 * is readable only by root (the agent's user), regardless of the mode of the file. Removes older copies that no package
 * restores to make room.
 * @returns undefined if the copy does not fit, or the path is no longer a regular file
 * @throws FleetError DISK_FULL, PERMISSION, IO, ABORTED
 */
export const backUp = async (
  limits: BackupLimits,
  { folder, name, path }: Place,
  signal: AbortSignal,
): Promise<Digest | undefined> => {
  const { backups } = limits;
  const temporary = join(backups, `${PARTIAL}${randomUUID().slice(0, 8)}`);
  try {
    await mkdir(backups, { recursive: true, mode: 0o700 });
    await sweep(backups);
    await using found = await openFile(folder, name);
    if (!found || !(await ensureRoom(limits, found.stats.size))) return undefined;
    const hash = createHash('sha256');
    const bounds = { maxBytes: limits.maxBackupBytes + 1, signal };
    await using to = await open(temporary, 'wx', 0o600);
    const size = await writeSparse(to, hashing(readUpTo(found.file, bounds, found.stats.size), hash));
    // The file may have grown since the check for free space.
    if (size > found.stats.size && !(await ensureRoom(limits, size))) return undefined;
    await to.sync();
    const digest = digestFromHex(hash.digest('hex'));
    await rename(temporary, join(backups, hexOf(digest)));
    await syncDirectory(backups);
    return digest;
  } catch (error) {
    throw hostError(error, `saving ${path} before it is replaced`);
  } finally {
    await rm(temporary, { force: true }).catch(() => {});
  }
};

async function* hashing(
  pieces: AsyncIterable<Buffer>,
  hash: ReturnType<typeof createHash>,
): AsyncGenerator<Buffer, void> {
  for await (const piece of pieces) {
    hash.update(piece);
    yield piece;
  }
}

const sweep = async (backups: string): Promise<void> => {
  for (const name of await readdir(backups))
    if (name.startsWith(PARTIAL)) await rm(join(backups, name), { force: true });
};

/** Writes chunks to an empty file and returns its size. Chunks of zeros become holes, so the copy of a sparse file is sparse. */
const writeSparse = async (file: FileHandle, pieces: AsyncIterable<Buffer>): Promise<number> => {
  let size = 0;
  for await (const piece of pieces) {
    if (!isZeros(piece)) await writeAt(file, piece, size);
    size += piece.length;
  }
  await file.truncate(size);
  return size;
};

const writeAt = async (file: FileHandle, piece: Buffer, position: number): Promise<void> => {
  for (let done = 0; done < piece.length; ) {
    const { bytesWritten } = await file.write(piece, done, piece.length - done, position + done);
    done += bytesWritten;
  }
};

/** True if all bytes are zero: the first is, and each equals the one before it. */
const isZeros = (piece: Buffer): boolean =>
  piece[0] === 0 && piece.subarray(1).equals(piece.subarray(0, piece.length - 1));
