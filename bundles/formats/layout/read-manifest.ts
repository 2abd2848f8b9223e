import { MAX_MANIFEST_BYTES } from './manifest.ts';
import type { Digest } from '../../digest.ts';
import type { BlobSource } from './blobs.ts';
import { findBlob, missingBlob } from './verified.ts';

/**
 * Reads a manifest, verified by its digest. A registry serves manifests under another path than blobs.
 * @throws FleetError MISSING_BLOB, TOO_LARGE, SIZE_MISMATCH, DIGEST_MISMATCH
 */
export const readManifest = async (
  source: BlobSource,
  digest: Digest,
  signal?: AbortSignal,
): Promise<Buffer> => {
  const bytes = await findManifest(source, digest, signal);
  if (!bytes) throw missingBlob(digest, source.name);
  return bytes;
};

/** As readManifest, but undefined when it is missing. @throws FleetError TOO_LARGE, SIZE_MISMATCH, DIGEST_MISMATCH */
export const findManifest = (
  source: BlobSource,
  digest: Digest,
  signal?: AbortSignal,
): Promise<Buffer | undefined> =>
  findBlob(source, digest, { maxBytes: MAX_MANIFEST_BYTES, isManifest: true, signal });
