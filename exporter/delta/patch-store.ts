import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { toFleetError } from '#bundles/errors';
import { openBlobDirectory } from '#bundles/layout/blob-directory';
import type { BlobStore } from '#bundles/layout/blobs';
import { DELTAS_FOLDER } from '#bundles/medium/medium';
import type { Source } from '../source/source.ts';

/** Patches lie on this machine's own disk until they are written to the medium: what they cost decides what travels. */
export type PatchStore = AsyncDisposable & { readonly blobs: BlobStore };

/** @throws FleetError DISK_FULL, PERMISSION, IO */
export const openPatchStore = async (): Promise<PatchStore> => {
  const folder = await mkdtemp(join(tmpdir(), 'fleet-export-')).catch((error: unknown) => {
    throw toFleetError(error, `making a folder in ${tmpdir()}`);
  });
  return {
    blobs: openBlobDirectory(folder, folder),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
};

/** A source that also has the patches, in a repository of their own. */
export const withPatches = (source: Source, patches: BlobStore): Source => ({
  ...source,
  blobs: (repository) => (repository === DELTAS_FOLDER ? patches : source.blobs(repository)),
  stream: (repository, digest, signal, buffers) =>
    repository === DELTAS_FOLDER
      ? opened(patches, digest, signal, buffers)
      : source.stream(repository, digest, signal, buffers),
});

async function* opened(
  patches: BlobStore,
  ...asked: Parameters<BlobStore['open']>
): AsyncGenerator<Uint8Array> {
  yield* await patches.open(...asked);
}
