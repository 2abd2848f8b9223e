import type { Stats } from 'node:fs';
import { type FileHandle, lstat, readlink } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { type Digest, digestFromHex } from '#bundles/digest';
import type { BlobRef } from '#bundles/formats/medium/medium';
import { createHash } from 'node:crypto';
import { errno, hostError } from '../host-error.ts';
import { openFile, type OpenFile } from './open-file.ts';
import { type Folder, openFolder } from './open-folder.ts';
import { type Bounds, readUpTo } from './read-up-to.ts';
import { temporaryName } from './temporary-name.ts';
import { knownDigests } from './known-digest.ts';

type Meta = { readonly mode: number; readonly uid: number; readonly gid: number };

/** The live entry at a path. `leftover`: an interrupted write of ours left a temporary file. */
export type Entry = { readonly leftover: boolean } & (
  | { readonly type: 'missing' }
  | ({
      readonly type: 'file';
      readonly size: number;
      /** null if the file is larger than the caller's `maxBytes`: it was not hashed and differs from every content of the caller. */
      readonly digest: Digest | null;
    } & Meta)
  | ({ readonly type: 'link'; readonly target: string } & Meta)
  | ({ readonly type: 'directory' } & Meta)
  | { readonly type: 'other' }
);

/** `maxBytes` of callers that do not compare content. */
export const NO_BYTES = -1;

/** As readEntryIn, for a path of the host; an unreadable path is never "missing". @throws FleetError APPLY_FAILED, PERMISSION, IO, ABORTED */
export const readEntry = async (root: string, path: string, bounds: Bounds): Promise<Entry> => {
  if (path === '/') return { type: 'directory', leftover: false, mode: 0o755, uid: 0, gid: 0 };
  await using folder = await openFolder(root, dirname(path));
  if (!folder) return { type: 'missing', leftover: false };
  return await readEntryIn(folder, basename(path), path, bounds);
};

/** Reads many entries; the folder of consecutive files is opened once. */
export const entryReader = (
  root: string,
  signal: AbortSignal,
): AsyncDisposable & { readonly read: (path: string, maxBytes: number) => Promise<Entry> } => {
  let parent: string | undefined;
  let folder: Folder | undefined;
  return {
    read: async (path, maxBytes) => {
      if (dirname(path) !== parent) {
        await folder?.[Symbol.asyncDispose]();
        [parent, folder] = [undefined, undefined];
        folder = await openFolder(root, dirname(path));
        parent = dirname(path);
      }
      if (!folder) return { type: 'missing', leftover: false };
      return await readEntryIn(folder, basename(path), path, { maxBytes, signal });
    },
    [Symbol.asyncDispose]: async () => folder?.[Symbol.asyncDispose](),
  };
};

/** Reads the entry `name` of an open folder and hashes a file of at most `maxBytes`. Errors name `path`. */
export const readEntryIn = async (
  folder: Folder,
  name: string,
  path: string,
  bounds: Bounds,
): Promise<Entry> => {
  try {
    const leftover = (await statOf(folder.at(temporaryName(name)))) !== undefined;
    const stats = await statOf(folder.at(name));
    if (stats === undefined) return { type: 'missing', leftover };
    if (stats.isSymbolicLink())
      return { type: 'link', leftover, target: await readlink(folder.at(name)), ...meta(stats) };
    if (stats.isDirectory()) return { type: 'directory', leftover, ...meta(stats) };
    if (!stats.isFile()) return { type: 'other', leftover };
    await using found = await openFile(folder, name);
    if (!found) return { type: 'other', leftover };
    const digest = await digestOfFile(found, bounds);
    return { type: 'file', leftover, size: found.stats.size, digest, ...meta(found.stats) };
  } catch (error) {
    throw hostError(error, `reading ${path}`);
  }
};

const statOf = async (path: string): Promise<Stats | undefined> => {
  try {
    return await lstat(path);
  } catch (error) {
    if (errno(error) === 'ENOENT') return undefined;
    throw error;
  }
};

const meta = (stats: Stats): Meta => ({ mode: stats.mode & 0o7777, uid: stats.uid, gid: stats.gid });

const SMALL = 1 << 20;

/** Kept in this process only: after a start every file is read once. */
const known = knownDigests(Date.now);

/** Notes the digest of an open file that was just verified, for the next look at it. */
export const noteWritten = async (file: FileHandle, { digest, size }: BlobRef): Promise<void> => {
  if (size > SMALL) await known.note(file, digest);
};

/**
 * Returns the digest of an open file, or null if it is larger than `maxBytes`. A larger file is not read, because a sparse file may
 * claim 14 TB; one that grows meanwhile is read up to the limit.
 * @throws FleetError ABORTED
 */
const digestOfFile = async (
  { file, stats }: Pick<OpenFile, 'file' | 'stats'>,
  { maxBytes, signal }: Bounds,
): Promise<Digest | null> => {
  if (stats.size > maxBytes) return null;
  const read = async (): Promise<Digest | null> => {
    const hash = createHash('sha256');
    let size = 0;
    for await (const piece of readUpTo(file, { maxBytes: maxBytes + 1, signal }, stats.size)) {
      size += piece.length;
      hash.update(piece);
    }
    return size > maxBytes ? null : digestFromHex(hash.digest('hex'));
  };
  return await (stats.size <= SMALL ? read() : known.of(file, read));
};
