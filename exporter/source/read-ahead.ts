import { isFleetError } from '#bundles/errors';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import { readBlob } from '#bundles/formats/layout/verified';
import type { OfferedDocument } from './offer.ts';
import { readInParallel } from './read-in-parallel.ts';

/** Limits of the prefetch, as for statements: a client that may push can list more and larger files. */
const MAX_BYTES = 64 << 10;
const MAX_COUNT = 4096;
const MAX_TOTAL = 32 << 20;

/** Implements Source.readAhead for a source that caches small blobs. */
export const readAhead = async (
  blobs: (repository: string) => BlobSource,
  documents: readonly OfferedDocument[],
  signal?: AbortSignal,
): Promise<void> => {
  let room = MAX_TOTAL;
  const unique = new Map(documents.map((it) => [it.document.digest, it]));
  const small = [...unique.values()].filter(
    ({ document: { size } }) => size <= MAX_BYTES && (room -= size) >= 0,
  );
  await readInParallel(
    small.slice(0, MAX_COUNT),
    async ({ document: { digest, size }, repository }, stop) => {
      try {
        await readBlob(blobs(repository), digest, size, stop);
      } catch (error) {
        if (stop.aborted || (isFleetError(error) && error.retryable)) throw error;
      }
    },
    signal,
  );
};
