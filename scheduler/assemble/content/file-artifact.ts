import { type Descriptor, encodeManifest } from '#bundles/formats/layout/manifest';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import { FILE_BLOB, OCI_MANIFEST } from '#bundles/media-types';
import { emptyConfig } from '#bundles/trust/images/evidence';
import type { ResolvedImage } from '../images/resolved-image.ts';
import type { Content } from './content.ts';

/**
 * A blob with a manifest that names only this blob (docs/bundle-format.md section 5): registries garbage-collect blobs without
 * a manifest. Equal bytes have equal manifests, regardless of their path on the host.
 */
export const fileArtifact = ({ digest, size, source }: Content): ResolvedImage => {
  const layer: Descriptor = { mediaType: FILE_BLOB, digest, size };
  const config = emptyConfig();
  const manifest = encodeManifest({
    schemaVersion: 2,
    mediaType: OCI_MANIFEST,
    artifactType: FILE_BLOB,
    config: config.descriptor,
    layers: [layer],
  });
  const made = new Map([manifest, config].map(({ descriptor, bytes }) => [descriptor.digest, bytes]));
  const blobs: BlobSource = {
    name: source.name,
    size: async (one) => made.get(one)?.byteLength ?? (await source.size(one)),
    open: async (one, signal) => {
      const bytes = made.get(one);
      return bytes ? once(bytes) : await source.open(one, signal);
    },
  };
  const { mediaType, digest: name, size: length } = manifest.descriptor;
  const top: Descriptor = { mediaType, digest: name, size: length };
  return {
    entry: { mediaType, digest: name, size: length },
    blobs: [top, config.descriptor, layer],
    source: blobs,
  };
};

async function* once(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
