import type { Descriptor, Manifest } from '#bundles/bundle/manifest';
import { encodeManifest } from '#bundles/bundle/manifest';
import { digestOf } from '#bundles/digest';
import { readArtifact } from '#bundles/layout/artifact';
import { type Document, toDescriptor } from '#bundles/layout/document';
import { findReference, type Layout } from '#bundles/layout/layout';
import { OCI_EMPTY, OCI_MANIFEST } from '#bundles/media-types';

/** A document with its bytes, on its way into a layout. */
export type NewDocument = Omit<Document, 'digest' | 'size'> & { readonly bytes: Buffer };

const EMPTY = Buffer.from('{}');
const EMPTY_CONFIG: Descriptor = { mediaType: OCI_EMPTY, digest: digestOf(EMPTY), size: EMPTY.byteLength };

export const toDocument = ({ bytes, ...claims }: NewDocument): Document => ({
  ...claims,
  digest: digestOf(bytes),
  size: bytes.byteLength,
});

/**
 * Writes documents as blobs and the small artifact that lists them (OCI image spec 1.1, "guidelines for artifact usage"):
 * blobs first, so that whoever finds the artifact finds everything. The caller puts it under its reference.
 */
export const writeArtifact = async (
  layout: Layout,
  artifactType: string,
  documents: readonly NewDocument[],
): Promise<Descriptor> => {
  await layout.blobs.write(EMPTY_CONFIG.digest, EMPTY_CONFIG.size, EMPTY);
  const layers: Descriptor[] = [];
  for (const document of documents) {
    const { digest, size } = toDocument(document);
    await layout.blobs.write(digest, size, document.bytes);
    layers.push(toDescriptor(toDocument(document)));
  }
  const manifest: Manifest = {
    schemaVersion: 2,
    mediaType: OCI_MANIFEST,
    artifactType,
    config: EMPTY_CONFIG,
    // Registries want at least one layer (OCI image spec, "guidelines for artifact usage").
    layers: layers.length === 0 ? [EMPTY_CONFIG] : layers,
  };
  const { bytes, descriptor } = encodeManifest(manifest);
  await layout.blobs.write(descriptor.digest, descriptor.size, bytes);
  return descriptor;
};

/** The documents of the artifact under a reference; none when there is no such artifact. @throws FleetError as readArtifact */
export const readDocuments = async (layout: Layout, reference: string): Promise<readonly Document[]> => {
  const descriptor = findReference(layout, reference);
  return descriptor ? readArtifact(layout.blobs, descriptor, { what: reference }) : [];
};
