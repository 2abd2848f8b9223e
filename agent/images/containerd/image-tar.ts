import { type TarEntry, writeTar } from '#bundles/formats/archive/write-tar';
import type { ClosureEntry } from '#bundles/formats/bundle/config';
import type { Descriptor } from '#bundles/formats/layout/manifest';
import { canonicalBytes } from '#bundles/json/canonical';
import { hexOf } from '#bundles/digest';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import { layoutMarker } from '#bundles/formats/layout/layout';
import { verified } from '#bundles/formats/layout/verified';
import { OCI_INDEX } from '#bundles/media-types';

/** Annotation with the full image name for containerd; org.opencontainers.image.ref.name holds only a tag. */
const IMAGE_NAME = 'io.containerd.image.name';

/**
 * Streams an OCI layout as a tar for `ctr images import` and verifies each blob. The index and layout marker come last, so that
 * a truncated archive is not a valid layout, even if it ends like a tar.
 * @param blobs the blobs of the image to send; containerd has the others
 */
export const imageTar = (
  { digest, size, mediaType, names = [] }: ClosureEntry,
  blobs: readonly Descriptor[],
  source: BlobSource,
  signal: AbortSignal,
): AsyncIterable<Uint8Array> => {
  const index = canonicalBytes({
    schemaVersion: 2,
    mediaType: OCI_INDEX,
    manifests: names.map((name) => ({ mediaType, digest, size, annotations: { [IMAGE_NAME]: name } })),
  });
  const entries = function* (): Generator<TarEntry> {
    for (const blob of blobs) {
      const path = `blobs/sha256/${hexOf(blob.digest)}`;
      yield { path, size: blob.size, content: contentOf(blob, source, signal) };
    }
    yield { path: 'index.json', size: index.byteLength, content: index };
    const marker = layoutMarker();
    yield { path: 'oci-layout', size: marker.byteLength, content: marker };
  };
  return writeTar(entries());
};

/** Opens the blob when the consumer reaches it. */
async function* contentOf(
  { digest, size }: Descriptor,
  source: BlobSource,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  yield* verified(digest, size, await source.open(digest, signal), source.name);
}
