import type { Digest } from '#bundles/digest';
import type { Descriptor } from '#bundles/formats/layout/manifest';
import { FleetError, isFleetError } from '#bundles/errors';
import type { BlobStore } from '#bundles/formats/layout/blobs';
import { verified } from '#bundles/formats/layout/verified';
import type { ResolvedImage } from './resolved-image.ts';

/**
 * Layers that registries need not store ("foreign" of Docker's schema 2, "non-distributable" of OCI image-spec 1.0, layer.md): their
 * descriptors have addresses of another server instead.
 */
const FOREIGN_LAYER =
  /^application\/vnd\.(?:docker\.image\.rootfs\.foreign|oci\.image\.layer\.nondistributable)\./;

/**
 * Copies the blobs of an image that the store lacks, layers and configs before the manifests that name them.
 * @param whole blobs that the store has, as far as it was asked already: applications of many cluster types share their images
 * @returns the number of blobs copied @throws FleetError IMAGE_MISSING for a foreign layer that the source does not have; MISSING_BLOB,
 * DIGEST_MISMATCH, SIZE_MISMATCH, DISK_FULL; REGISTRY_*
 */
export const copyBlobs = async (
  to: BlobStore,
  { source, blobs }: Pick<ResolvedImage, 'source' | 'blobs'>,
  signal: AbortSignal,
  whole: Set<Digest> = new Set(),
): Promise<number> => {
  let copied = 0;
  for (const blob of blobs.toReversed()) {
    const { digest, size } = blob;
    if (whole.has(digest)) continue;
    if ((await to.size(digest)) === size) {
      whole.add(digest);
      continue;
    }
    try {
      const content = await source.open(digest, signal);
      await to.write(digest, size, verified(digest, size, content, source.name), signal);
    } catch (error) {
      throw isFleetError(error) && error.code === 'MISSING_BLOB' ? absent(blob, source.name, error) : error;
    }
    whole.add(digest);
    copied += 1;
  }
  return copied;
};

const absent = ({ digest, mediaType }: Descriptor, place: string, cause: FleetError): FleetError =>
  FOREIGN_LAYER.test(mediaType)
    ? new FleetError(
        'IMAGE_MISSING',
        `${place} does not have its foreign layer ${digest} (${mediaType}), which registries need not store`,
        {
          subject: digest,
          hint: 'Push the image together with that layer, for example with dockerd --allow-nondistributable-artifacts',
          cause,
        },
      )
    : new FleetError('IMAGE_MISSING', `${place} does not have its blob ${digest}`, {
        subject: digest,
        hint: 'Push the image again, so that the registry has all of it',
        cause,
      });
