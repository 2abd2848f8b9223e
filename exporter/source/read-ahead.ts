import { isFleetError } from '#bundles/errors';
import type { BlobSource } from '#bundles/layout/blobs';
import { readBlob } from '#bundles/layout/verified';
import type { OfferedDocument } from './offer.ts';
import { readInParallel } from './read-in-parallel.ts';

/** What statements are allowed. Anybody who may push can name more and longer files than anybody reads. */
const MAX_BYTES = 64 << 10;
const MAX_COUNT = 4096;
const MAX_TOTAL = 32 << 20;

/** As Source.readAhead, of one that keeps what is small. */
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
