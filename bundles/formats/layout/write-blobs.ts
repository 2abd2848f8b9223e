import type { Digest } from '../../digest.ts';
import { toFleetError } from '../../errors.ts';
import type { BlobDirectory } from './blob-directory.ts';
import { type NewFile, writeFilesAtomically } from './write-file.ts';

/** Bytes and their digest. */
export type NewBlob = { readonly digest: Digest; readonly bytes: Uint8Array };

/** Writes the blobs that a directory lacks, with the waits for the disk shared. @throws FleetError DISK_FULL, PERMISSION, IO */
export const writeBlobs = async (directory: BlobDirectory, blobs: readonly NewBlob[]): Promise<void> => {
  const missing = new Map<Digest, NewFile>();
  for (const { digest, bytes } of blobs)
    if (!missing.has(digest) && (await directory.size(digest)) !== bytes.byteLength)
      missing.set(digest, { path: directory.path(digest), bytes });
  try {
    await writeFilesAtomically([...missing.values()]);
  } catch (error) {
    throw toFleetError(error, `writing to ${directory.name}`);
  }
};
