import { type Descriptor, MAX_MANIFEST_BYTES, parseImageManifest } from '#bundles/bundle/manifest';
import { FleetError } from '#bundles/errors';
import type { BlobSource } from '#bundles/layout/blobs';
import { type Document, fromDescriptor } from '#bundles/layout/document';
import { readBlob } from '#bundles/layout/verified';

/** The documents that a release, site or receipts artifact carries. @throws FleetError LAYOUT_INVALID, MISSING_BLOB ... */
export const readArtifact = async (
  blobs: BlobSource,
  descriptor: Descriptor,
  artifactType: string,
  what: string,
): Promise<readonly Document[]> => {
  const manifest = parseImageManifest(await readBlob(blobs, descriptor.digest, MAX_MANIFEST_BYTES), what);
  if (manifest.artifactType !== artifactType) {
    throw new FleetError(
      'LAYOUT_INVALID',
      `${what} is of type ${manifest.artifactType}, not ${artifactType}`,
    );
  }
  return manifest.layers.flatMap((layer) => fromDescriptor(layer) ?? []);
};
