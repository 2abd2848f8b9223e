import type { Descriptor } from '#bundles/formats/layout/manifest';
import { digestOf } from '#bundles/digest';
import {
  EMPTY_CONFIG,
  EMPTY_DESCRIPTOR,
  encodeArtifact,
  readArtifact,
} from '#bundles/formats/layout/artifact';
import { type NewBlob, writeBlobs } from '#bundles/formats/layout/write-blobs';
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
 * Writes documents as blobs, and an artifact that lists them (OCI image spec 1.1, "guidelines for artifact usage"). The caller
 * adds the reference afterwards, so that a reader of the artifact finds all of them.
 */
export const writeArtifact = async (
  layout: Layout,
  artifactType: string,
  documents: readonly NewDocument[],
): Promise<Descriptor> => {
  const { blobs, descriptor } = prepareArtifact(artifactType, documents);
  await writeBlobs(layout.blobs, blobs);
  return descriptor;
};

/**
 * An artifact, and the blobs that a layout has to have before it names it.
 * @param documents those without bytes are in the layout
 */
export const prepareArtifact = (
  artifactType: string,
  documents: readonly (NewDocument | Document)[],
): { readonly blobs: readonly NewBlob[]; readonly descriptor: Descriptor } => {
  const blobs: NewBlob[] = [{ digest: EMPTY_DESCRIPTOR.digest, bytes: EMPTY_CONFIG }];
  const listed = documents.map((one): Document => {
    if (!('bytes' in one)) return one;
    const document = toDocument(one);
    blobs.push({ digest: document.digest, bytes: one.bytes });
    return document;
  });
  const { bytes, descriptor } = encodeArtifact(artifactType, listed);
  return { descriptor, blobs: [...blobs, { digest: descriptor.digest, bytes }] };
};

/**
 * The documents of the artifact with this reference; empty when there is none.
 * @throws FleetError MISSING_BLOB, TOO_LARGE, DIGEST_MISMATCH, LAYOUT_INVALID
 */
export const readDocuments = async (layout: Layout, reference: string): Promise<readonly Document[]> => {
  const descriptor = findReference(layout, reference);
  return descriptor ? readArtifact(layout.blobs, descriptor, { what: reference }) : [];
};
