import { defined } from '../../defined.ts';
import {
  type Descriptor,
  type Manifest,
  MAX_MANIFEST_BYTES,
  parseImageManifest,
} from '../../formats/layout/manifest.ts';
import type { Digest } from '../../digest.ts';
import { FleetError } from '../../errors.ts';
import { documentsOf } from '../../formats/layout/artifact.ts';
import type { BlobSource } from '../../formats/layout/blobs.ts';
import { checkCovers } from '../../trust/statements/audit-checkpoint.ts';
import { readAuditLines } from '../../formats/statements/audit-lines.ts';
import type { Document } from '../../formats/layout/document.ts';
import { readBlob } from '../../formats/layout/verified.ts';
import { releaseTag } from '../registry/references.ts';
import type { TrustRoot } from '../../trust/root/root.ts';
import { planBundles } from './plan-bundles.ts';
import { readVersion } from './read-version.ts';
import type { ManifestUpload, Pointer, UploadBatch } from './upload-batch.ts';

/**
 * Plans the upload batch of a pointer: everything that it reaches, in upload order. Verified as by an agent, so that nothing
 * unsigned or expired is published.
 * @param leases leases outside of the artifact, which may keep an expired release valid
 * @throws FleetError the code with which an agent would refuse it; MISSING_BLOB, SIZE_MISMATCH for an incomplete layout
 */
export const planBatch = async (
  blobs: BlobSource,
  pointer: Pointer,
  root: TrustRoot,
  now: Date,
  signal?: AbortSignal,
  leases: readonly Document[] = [],
): Promise<UploadBatch> => {
  const what = `${pointer.repository}:${pointer.tag}`;
  const bytes = await readBlob(blobs, pointer.artifact.digest, MAX_MANIFEST_BYTES, signal);
  const manifest = parseImageManifest(bytes, what);
  const documents = documentsOf(manifest);
  const version = await readVersion(pointer, blobs, documents, root);
  const lines = pointer.tag === 'log' ? await readAuditLines(blobs, documents) : undefined;
  if (lines && version.identity) checkCovers({ count: version.number, head: version.identity }, lines, what);
  const { stages, companions } =
    pointer.tag === 'release'
      ? await planBundles(
          { blobs, documents: [...documents, ...leases], root, now },
          pointer.repository,
          signal,
        )
      : { stages: [], companions: [] };
  const batch: UploadBatch = {
    ...pointer,
    version,
    ...defined({ lines: lines ? new Set(lines.map(({ digest }) => digest)) : undefined }),
    stages: [...stages, [artifactUpload(pointer.artifact.digest, manifest, bytes)]],
    companions,
  };
  await checkWhole(blobs, batch);
  return batch;
};

/** An artifact under its immutable tag. */
export const artifactUpload = (digest: Digest, manifest: Manifest, bytes: Buffer): ManifestUpload => ({
  tag: releaseTag(digest),
  descriptor: descriptorOf(digest, manifest, bytes),
  bytes,
  blobs: [manifest.config, ...manifest.layers],
});

const descriptorOf = (digest: Digest, { mediaType, artifactType }: Manifest, bytes: Buffer): Descriptor =>
  defined({
    mediaType,
    digest,
    size: bytes.byteLength,
    artifactType,
  });

/** Checks that every blob exists before the first is sent. */
const checkWhole = async (blobs: BlobSource, { repository, tag, stages }: UploadBatch): Promise<void> => {
  for (const { digest, size } of stages.flat().flatMap((upload) => upload.blobs)) {
    const found = await blobs.size(digest);
    if (found === size) continue;
    const why = found === undefined ? 'lacks a blob' : `has ${found} bytes of a blob of ${size}`;
    throw new FleetError(
      found === undefined ? 'MISSING_BLOB' : 'SIZE_MISMATCH',
      `${blobs.name} ${why} that ${repository}:${tag} needs`,
      { subject: digest, hint: 'Build again with the images: what is lost is written again' },
    );
  }
};
