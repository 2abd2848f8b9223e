import type { Descriptor } from '#bundles/formats/layout/manifest';
import { digestOf } from '#bundles/digest';
import {
  EMPTY_CONFIG,
  EMPTY_DESCRIPTOR,
  encodeArtifact,
  readArtifact,
} from '#bundles/formats/layout/artifact';
import type { Document } from '#bundles/formats/layout/document';
import { findReference, type Layout } from '#bundles/formats/layout/layout';

/** A document with its bytes, to be written into a layout. */
export type NewDocument = Omit<Document, 'digest' | 'size'> & { readonly bytes: Buffer };

export const toDocument = ({ bytes, ...claims }: NewDocument): Document => ({
  ...claims,
  digest: digestOf(bytes),
  size: bytes.byteLength,
});

/**
 * Writes documents as blobs, and an artifact that lists them (OCI image spec 1.1, "guidelines for artifact usage"). Blobs
 * come first, so that a reader of the artifact finds all of them. The caller adds the reference.
 */
export const writeArtifact = async (
  layout: Layout,
  artifactType: string,
  documents: readonly NewDocument[],
): Promise<Descriptor> => {
  await layout.blobs.write(EMPTY_DESCRIPTOR.digest, EMPTY_DESCRIPTOR.size, EMPTY_CONFIG);
  for (const document of documents) {
    const { digest, size } = toDocument(document);
    await layout.blobs.write(digest, size, document.bytes);
  }
  const { bytes, descriptor } = encodeArtifact(artifactType, documents.map(toDocument));
  await layout.blobs.write(descriptor.digest, descriptor.size, bytes);
  return descriptor;
};

/**
 * The documents of the artifact with this reference; empty when there is none.
 * @throws FleetError MISSING_BLOB, TOO_LARGE, DIGEST_MISMATCH, LAYOUT_INVALID
 */
export const readDocuments = async (layout: Layout, reference: string): Promise<readonly Document[]> => {
  const descriptor = findReference(layout, reference);
  return descriptor ? readArtifact(layout.blobs, descriptor, { what: reference }) : [];
};
