import { open, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { toFleetError } from '#bundles/errors';
import type { BlobSource, OpenFrom } from '#bundles/formats/layout/blobs';
import { createDirectory } from '#bundles/formats/layout/create-directory';
import { readWhole } from '#bundles/formats/layout/read-span';
import { renameSynced } from '#bundles/formats/layout/rename-synced';
import { verified } from '#bundles/formats/layout/verified';
import { writeAll, writeBehind } from '#bundles/formats/layout/write-behind';
import type { BlobRef } from '#bundles/formats/medium/medium';
import { partialBytes, partialFile } from '../../store/partial-blobs.ts';
import type { State } from '../../store/state.ts';

/**
 * Copies a blob over a line that may break. The bytes that arrived stay in a partial file, from whose end the next try continues, after
 * hours or a restart. The blob gets its name in the store once all of it is verified.
 * @throws FleetError DIGEST_MISMATCH, SIZE_MISMATCH, DISK_FULL, IO, the errors of the source
 */
export const continueBlob = async (
  state: State,
  source: Pick<BlobSource, 'name'> & { readonly openFrom: OpenFrom },
  blob: BlobRef,
  signal: AbortSignal,
): Promise<void> => {
  const path = state.blobs.path(blob.digest);
  const partial = partialFile(state, blob.digest);
  if ((await state.blobs.size(blob.digest)) === blob.size) return;
  const kept = partialBytes(state, blob.digest);
  try {
    signal.throwIfAborted();
    await createDirectory(dirname(path));
    await fill(partial, kept, source, blob, signal);
    await renameSynced(partial, path);
  } catch (cause) {
    const error = toFleetError(cause, `writing to ${state.blobs.name}`);
    const isMismatch = error.code === 'DIGEST_MISMATCH' || error.code === 'SIZE_MISMATCH';
    if (isMismatch || error.code === 'DISK_FULL') await rm(partial, { force: true });
    // A power cut may have left other bytes than were written.
    if (kept > 0 && isMismatch) return continueBlob(state, source, blob, signal);
    throw error;
  }
};

/** Appends to the partial file until it holds the blob, synced. Verifies all of it, the kept bytes included. */
const fill = async (
  partial: string,
  kept: number,
  { name, openFrom }: Parameters<typeof continueBlob>[1],
  { digest, size }: BlobRef,
  signal: AbortSignal,
): Promise<void> => {
  async function* content(): AsyncGenerator<Uint8Array> {
    if (kept > 0) yield* readWhole(partial, { signal });
    if (kept >= size && size > 0) return;
    for await (const chunk of await openFrom(digest, kept, signal)) {
      signal.throwIfAborted();
      yield chunk;
    }
  }
  const file = await open(partial, 'a', 0o644);
  try {
    await writeBehind(beyond(verified(digest, size, content(), name), kept), (chunks) =>
      writeAll(file, chunks),
    );
  } finally {
    // After a failure, too, so that a power cut does not lose what arrived.
    try {
      await file.sync();
    } finally {
      await file.close();
    }
  }
};

/** The chunks after the first `kept` bytes, which end with a chunk. */
async function* beyond(content: AsyncIterable<Uint8Array>, kept: number): AsyncGenerator<Uint8Array> {
  let seen = 0;
  for await (const chunk of content) {
    if (seen >= kept) yield chunk;
    seen += chunk.byteLength;
  }
}
