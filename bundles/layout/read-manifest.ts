import { MAX_MANIFEST_BYTES } from '../bundle/manifest.ts';
import type { Digest } from '../digest.ts';
import type { BlobSource } from './blobs.ts';
import { findBlob, missingBlob } from './verified.ts';

/** What is known to be a manifest, verified by its digest: a registry is asked where it keeps those. @throws as readBlob */
export const readManifest = async (
  source: BlobSource,
  digest: Digest,
  signal?: AbortSignal,
): Promise<Buffer> => {
  const bytes = await findManifest(source, digest, signal);
  if (!bytes) throw missingBlob(digest, source.name);
  return bytes;
};

/** The same; undefined where it is not there. @throws FleetError TOO_LARGE, SIZE_MISMATCH, DIGEST_MISMATCH */
export const findManifest = (
  source: BlobSource,
  digest: Digest,
  signal?: AbortSignal,
): Promise<Buffer | undefined> =>
  findBlob(source, digest, { maxBytes: MAX_MANIFEST_BYTES, isManifest: true, signal });
