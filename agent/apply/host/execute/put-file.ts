import { rm } from 'node:fs/promises';
import type { Digest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { Place } from '../backups/back-up.ts';
import type { Content } from '../desired/read-wanted.ts';
import { hostError } from '../host-error.ts';
import { openFile } from '../live/open-file.ts';
import type { Folder } from '../live/open-folder.ts';
import { type Entry, readEntryIn } from '../live/read-entry.ts';
import type { Bounds } from '../live/read-up-to.ts';
import { temporaryName } from '../live/temporary-name.ts';
import { type Metadata, setMetadata } from './set-metadata.ts';
import { CAN_COPY, type NewContent, writeInto } from './write-into.ts';

/** Entries that a file may replace. */
export type Replaceable = Exclude<Entry, { readonly type: 'directory' | 'other' }>;

/** A name in an open directory, and the entry found there. */
export type Found = Place & { readonly live: Replaceable };

/** Returns the entry at the path of a file. @throws FleetError APPLY_FAILED if a file cannot replace it; as readEntryIn */
export const readReplaceable = async (
  folder: Folder,
  name: string,
  path: string,
  bounds: Bounds,
): Promise<Replaceable> => {
  const live = await readEntryIn(folder, name, path, bounds);
  if (live.type !== 'directory' && live.type !== 'other') return live;
  throw new FleetError(
    'APPLY_FAILED',
    `${path} is ${live.type === 'other' ? 'not a plain file' : 'a directory'}`,
  );
};

/**
 * Writes the desired file. Identical bytes are not written again, unless another user may have placed the file there: it could be a
 * hard link, and changing its mode and owner would change a file elsewhere. Returns the mode that the file system made of it.
 */
export const putFile = async (
  at: Found,
  wanted: { readonly digest: Digest } & Content,
  metadata: Metadata,
  signal: AbortSignal,
): Promise<number> => {
  const { folder, name, path, live } = at;
  if (live.type === 'file' && live.digest === wanted.digest) {
    const mode = await correctMetadata(at, live, metadata);
    if (mode !== undefined) {
      await dropLeftover(at);
      return mode;
    }
  }
  return await writeInto(folder, name, await contentOf(wanted, signal), metadata, path);
};

const contentOf = async (wanted: Content, signal: AbortSignal): Promise<NewContent> => {
  if ('bytes' in wanted) return wanted.bytes;
  return wanted.stored && CAN_COPY ? { ...wanted.stored, signal } : await wanted.open(signal);
};

/** Sets only mode and owner; bytes and times stay. Returns undefined if the file has to be written again. */
const correctMetadata = async (
  { folder, name, path }: Found,
  live: Extract<Entry, { type: 'file' }>,
  metadata: Metadata,
): Promise<number | undefined> => {
  const { mode, owner } = metadata;
  const isOwner = !owner || (live.uid === owner.uid && live.gid === owner.gid);
  if (live.mode === mode && isOwner) return mode;
  if (!folder.trusted) return undefined;
  try {
    await using found = await openFile(folder, name);
    if (!found || found.stats.nlink > 1) return undefined;
    const made = await setMetadata(found.file, isOwner ? { mode, owner: null } : metadata, path);
    await found.file.sync();
    return made;
  } catch (error) {
    throw hostError(error, `setting mode and owner of ${path}`);
  }
};

const dropLeftover = async ({ folder, name, path, live }: Found): Promise<void> => {
  if (!live.leftover) return;
  try {
    await rm(folder.at(temporaryName(name)), { force: true });
    await folder.sync();
  } catch (error) {
    throw hostError(error, `removing the remains of an interrupted write to ${path}`);
  }
};

export const removeFile = async (folder: Folder, name: string, path: string): Promise<void> => {
  try {
    await rm(folder.at(temporaryName(name)), { force: true });
    await rm(folder.at(name), { force: true });
    await folder.sync();
  } catch (error) {
    throw hostError(error, `removing ${path}`);
  }
};
