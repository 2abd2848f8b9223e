import type { Descriptor } from '#bundles/bundle/manifest';
import { digestOf } from '#bundles/digest';
import { EMPTY_DESCRIPTOR, encodeArtifact, readArtifact } from '#bundles/layout/artifact';
import type { Document } from '#bundles/layout/document';
import { findReference, type Layout } from '#bundles/layout/layout';
import { EMPTY_CONFIG } from '#bundles/statements/referrer';

/** A document with its bytes, on its way into a layout. */
export type NewDocument = Omit<Document, 'digest' | 'size'> & { readonly bytes: Buffer };

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
  await layout.blobs.write(EMPTY_DESCRIPTOR.digest, EMPTY_DESCRIPTOR.size, EMPTY_CONFIG);
  for (const document of documents) {
    const { digest, size } = toDocument(document);
    await layout.blobs.write(digest, size, document.bytes);
  }
  const { bytes, descriptor } = encodeArtifact(artifactType, documents.map(toDocument));
  await layout.blobs.write(descriptor.digest, descriptor.size, bytes);
  return descriptor;
};

/** The documents of the artifact under a reference; none when there is no such artifact. @throws FleetError as readArtifact */
export const readDocuments = async (layout: Layout, reference: string): Promise<readonly Document[]> => {
  const descriptor = findReference(layout, reference);
  return descriptor ? readArtifact(layout.blobs, descriptor, { what: reference }) : [];
};
