import { rm } from 'node:fs/promises';
import { openBlobDirectory } from '#bundles/formats/layout/blob-directory';
import type { BlobStore } from '#bundles/formats/layout/blobs';
import { DELTAS_FOLDER } from '#bundles/formats/medium/medium';
import { createTemporaryFolder } from '#bundles/temporary-folder';
import type { Source } from '../../source/source.ts';
import { streamBlob } from '../../source/stream-blob.ts';

/** A temporary store on the local disk for patches, whose sizes decide what is written to the medium. */
export type PatchStore = AsyncDisposable & { readonly blobs: BlobStore };

/** @throws FleetError DISK_FULL, PERMISSION, IO */
export const openPatchStore = async (): Promise<PatchStore> => {
  const folder = await createTemporaryFolder('fleet-export-');
  return {
    blobs: openBlobDirectory(folder, folder),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
};

/** A source that also offers the patches, under a repository name of their own. */
export const withPatches = (source: Source, patches: BlobStore): Source => ({
  ...source,
  blobs: (repository) => (repository === DELTAS_FOLDER ? patches : source.blobs(repository)),
  stream: (repository, digest, signal) =>
    repository === DELTAS_FOLDER
      ? streamBlob(patches, digest, signal)
      : source.stream(repository, digest, signal),
});
