import { type Descriptor, encodeManifest, type Manifest } from '../../formats/layout/manifest.ts';
import { type Digest } from '../../digest.ts';
import type { BlobSource } from '../../formats/layout/blobs.ts';
import { missingBlob } from '../../formats/layout/verified.ts';
import { OCI_MANIFEST } from '../../media-types.ts';
import { EMPTY_CONFIG, EMPTY_DESCRIPTOR } from '../../formats/layout/artifact.ts';

export type EvidenceBlob = { readonly descriptor: Descriptor; readonly bytes: Buffer };

/** A small manifest that travels with an image, and the blobs it names: all of an `attachments[]` entry, in memory. */
export type Evidence = { readonly manifest: EvidenceBlob; readonly blobs: readonly EvidenceBlob[] };

export const emptyConfig = (): EvidenceBlob => ({
  descriptor: EMPTY_DESCRIPTOR,
  bytes: EMPTY_CONFIG,
});

/** Creates evidence: the same layers give the same bytes on every machine. */
export const createEvidence = (layer: EvidenceBlob, more: Pick<Manifest, 'artifactType'> = {}): Evidence => {
  const config = emptyConfig();
  const { bytes, descriptor } = encodeManifest({
    schemaVersion: 2,
    mediaType: OCI_MANIFEST,
    ...more,
    config: config.descriptor,
    layers: [layer.descriptor],
  });
  return { manifest: { descriptor, bytes }, blobs: [config, layer] };
};

/** Evidence as a source of its blobs. */
export const evidenceSource = (evidence: readonly Evidence[], name: string): BlobSource => {
  const all = evidence.flatMap(({ manifest, blobs }) => [manifest, ...blobs]);
  const bytes = new Map<Digest, Buffer>(all.map((blob) => [blob.descriptor.digest, blob.bytes]));
  return {
    name,
    size: async (digest) => bytes.get(digest)?.byteLength,
    open: async (digest) => {
      const found = bytes.get(digest);
      if (!found) throw missingBlob(digest, name);
      return (async function* once() {
        yield found;
      })();
    },
  };
};
