import { createHash } from 'node:crypto';
import { constants, type Stats } from 'node:fs';
import { type FileHandle, lstat, open, readlink } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { type Digest, digestFromHex, digestOf } from '#bundles/digest';
import { errno, hostError } from '../host-error.ts';
import { knownDigests } from './known-digest.ts';
import { type Folder, openFolder } from './open-folder.ts';
import { temporaryName } from './temporary-name.ts';

type Meta = { readonly mode: number; readonly uid: number; readonly gid: number };

/** What is at a path now. `leftover`: a write of ours to this path was cut short. */
export type Entry = { readonly leftover: boolean } & (
  | { readonly type: 'missing' }
  | ({ readonly type: 'file'; readonly digest: Digest } & Meta)
  | ({ readonly type: 'link'; readonly target: string } & Meta)
  | ({ readonly type: 'directory' } & Meta)
  | { readonly type: 'other' }
);

/** As readEntryIn, for a path of the host. @throws FleetError APPLY_FAILED, PERMISSION, IO: never 'missing' by mistake */
export const readEntry = async (root: string, path: string): Promise<Entry> => {
  if (path === '/') return { type: 'directory', leftover: false, mode: 0o755, uid: 0, gid: 0 };
  await using folder = await openFolder(root, dirname(path));
  return folder ? await readEntryIn(folder, basename(path), path) : { type: 'missing', leftover: false };
};

/** Reads many entries: files of one folder in a row open it once. */
export const entryReader = (
  root: string,
): AsyncDisposable & { readonly read: (path: string) => Promise<Entry> } => {
  let parent: string | undefined;
  let folder: Folder | undefined;
  return {
    read: async (path) => {
      if (dirname(path) !== parent) {
        await folder?.[Symbol.asyncDispose]();
        [parent, folder] = [undefined, undefined];
        folder = await openFolder(root, dirname(path));
        parent = dirname(path);
      }
      return folder ? readEntryIn(folder, basename(path), path) : { type: 'missing', leftover: false };
    },
    [Symbol.asyncDispose]: async () => folder?.[Symbol.asyncDispose](),
  };
};

/** Looks at `name` in an open folder; a file's bytes are hashed. `path` is what errors call it. */
export const readEntryIn = async (folder: Folder, name: string, path: string): Promise<Entry> => {
  try {
    const leftover = (await statOf(folder.at(temporaryName(name)))) !== undefined;
    const stats = await statOf(folder.at(name));
    if (stats === undefined) return { type: 'missing', leftover };
    if (stats.isSymbolicLink())
      return { type: 'link', leftover, target: await readlink(folder.at(name)), ...meta(stats) };
    if (stats.isDirectory()) return { type: 'directory', leftover, ...meta(stats) };
    if (!stats.isFile()) return { type: 'other', leftover };
    // It may have become a fifo since: opening one would wait for ever.
    await using file = await open(
      folder.at(name),
      constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
    );
    const now = await file.stat();
    if (!now.isFile()) return { type: 'other', leftover };
    return { type: 'file', leftover, digest: await digestOfHandle(file, now.size), ...meta(now) };
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

/** Of this process: each starts with a full look. */
const known = knownDigests(Date.now);

const digestOfHandle = async (file: FileHandle, size: number): Promise<Digest> => {
  if (size <= SMALL) return digestOf(await file.readFile());
  return await known.of(file, async () => {
    const hash = createHash('sha256');
    for await (const chunk of file.createReadStream({ autoClose: false, highWaterMark: 1 << 18 }))
      hash.update(chunk as Buffer);
    return digestFromHex(hash.digest('hex'));
  });
};
