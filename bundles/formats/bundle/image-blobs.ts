import type { BlobSource } from '../layout/blobs.ts';
import type { ClosureEntry } from './config.ts';
import { type Descriptor, isManifestType } from '../layout/manifest.ts';
import { reachedBlobs } from './reached-blobs.ts';

/** True for an image, false for a file that travels with the bundle. */
export const isImage = ({ mediaType, names }: ClosureEntry): boolean =>
  isManifestType(mediaType) && names !== undefined && names.length > 0;

/** All blobs of an image, each once, manifests before what they name. @throws FleetError DIGEST_MISMATCH, SIZE_MISMATCH, LAYOUT_INVALID, TOO_LARGE */
export const imageBlobs = async (
  source: BlobSource,
  image: ClosureEntry,
  signal: AbortSignal,
): Promise<readonly Descriptor[]> => [
  ...(await reachedBlobs(source, [image], (digest) => `image ${digest}`, signal)).values(),
];
