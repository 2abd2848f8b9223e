import { type TarEntry, writeTar } from '#bundles/archive/write-tar';
import type { ClosureEntry } from '#bundles/bundle/config';
import type { Descriptor } from '#bundles/bundle/manifest';
import { canonicalBytes } from '#bundles/canonical';
import { hexOf } from '#bundles/digest';
import type { BlobSource } from '#bundles/layout/blobs';
import { layoutMarker } from '#bundles/layout/layout';
import { verified } from '#bundles/layout/verified';
import { OCI_INDEX } from '#bundles/media-types';

/** containerd gives an image this full name; what others read, org.opencontainers.image.ref.name, is a tag only. */
const IMAGE_NAME = 'io.containerd.image.name';

/**
 * An OCI layout as a tar for `ctr images import`, made while it is read, each blob verified. What gives the image its names
 * comes last: an archive that ends anywhere before is no layout, even where the cut looks like the end of a tar.
 * @param blobs which of the image's blobs to send; containerd has the others
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

/** Opened when its turn has come, not before. */
async function* contentOf(
  { digest, size }: Descriptor,
  source: BlobSource,
  signal: AbortSignal,
): AsyncGenerator<Uint8Array> {
  yield* verified(digest, size, await source.open(digest, signal), source.name);
}
