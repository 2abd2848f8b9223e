import type { Digest } from '../../digest.ts';
import type { TargetRepository } from './destination.ts';
import { addTransfers, type TransferCounts, NO_TRANSFERS } from './send-batch.ts';
import type { ManifestUpload, UploadBatch } from './upload-batch.ts';

/**
 * Estimates the upload of a batch with read requests only.
 * @param brought blobs that earlier batches would upload to other repositories and this one can mount; its own are added
 */
export const surveyBatch = async (
  batch: Pick<UploadBatch, 'stages'>,
  target: TargetRepository,
  repair: boolean,
  brought: Set<Digest>,
  signal: AbortSignal,
): Promise<TransferCounts> => {
  const asked = new Set<Digest>();
  let transfers = NO_TRANSFERS;
  for (const upload of batch.stages.flat()) {
    signal.throwIfAborted();
    transfers = addTransfers(
      transfers,
      await surveyManifest(upload, target, repair, { asked, brought }, signal),
    );
  }
  return transfers;
};

const surveyManifest = async (
  { tag, descriptor, blobs }: ManifestUpload,
  target: TargetRepository,
  repair: boolean,
  { asked, brought }: { readonly asked: Set<Digest>; readonly brought: Set<Digest> },
  signal: AbortSignal,
): Promise<TransferCounts> => {
  const known = await target.resolve(tag, signal);
  if (known?.digest === descriptor.digest && !repair) return NO_TRANSFERS;
  const fresh = blobs.filter(({ digest }) => !asked.has(digest));
  for (const { digest } of fresh) asked.add(digest);
  const found = await Promise.all(
    fresh.map(async ({ digest, size }) => ({
      digest,
      size,
      there: (await target.blobs.size(digest)) === size,
    })),
  );
  const absent = found.filter(({ there }) => !there);
  const uploads = absent.filter(({ digest }) => !brought.has(digest));
  for (const { digest } of uploads) brought.add(digest);
  return {
    ...NO_TRANSFERS,
    manifests: known?.digest === descriptor.digest ? 0 : 1,
    there: found.length - absent.length,
    mounted: absent.length - uploads.length,
    uploaded: uploads.length,
    bytes: uploads.reduce((sum, { size }) => sum + size, 0),
  };
};
