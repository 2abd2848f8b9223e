import type { Bundle } from '#bundles/formats/bundle/read-bundle';
import { unpackPackages } from '#bundles/formats/bundle/unpack-packages';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import { readBlob } from '#bundles/formats/layout/verified';

/**
 * The files of each package of a bundle, by assignment and path, without kustomization.yaml.
 * @throws FleetError MISSING_BLOB, TOO_LARGE, SIZE_MISMATCH, DIGEST_MISMATCH; the codes of unpackLayer
 */
export const unpackBundle = async (
  blobs: BlobSource,
  { manifest: { layers } }: Pick<Bundle, 'manifest'>,
  signal?: AbortSignal,
): Promise<ReturnType<typeof unpackPackages>> =>
  unpackPackages(await Promise.all(layers.map(({ digest, size }) => readBlob(blobs, digest, size, signal))));
