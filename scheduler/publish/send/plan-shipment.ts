import type { Descriptor, Manifest } from '#bundles/bundle/manifest';
import { MAX_MANIFEST_BYTES, parseImageManifest } from '#bundles/bundle/manifest';
import type { Digest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { documentsOf } from '#bundles/layout/artifact';
import type { BlobSource } from '#bundles/layout/blobs';
import { readBlob } from '#bundles/layout/verified';
import { releaseTag } from '#bundles/registry/references';
import type { TrustRoot } from '#bundles/trust/root';
import { planBundles } from './plan-bundles.ts';
import { readOrder } from './read-order.ts';
import type { Parcel, Pointer, Shipment } from './shipment.ts';

/**
 * All that a pointer reaches, in the order in which it must be there. Judged as an agent would judge it: nothing unsigned
 * or expired is ever published.
 * @throws FleetError what an agent would refuse it with; MISSING_BLOB, SIZE_MISMATCH where the layout is not whole
 */
export const planShipment = async (
  blobs: BlobSource,
  pointer: Pointer,
  root: TrustRoot,
  now: Date,
  signal?: AbortSignal,
): Promise<Shipment> => {
  const what = `${pointer.repository}:${pointer.tag}`;
  const bytes = await readBlob(blobs, pointer.artifact.digest, MAX_MANIFEST_BYTES, signal);
  const manifest = parseImageManifest(bytes, what);
  const documents = documentsOf(manifest);
  const order = await readOrder(pointer, blobs, documents, root);
  const { stages, companions } =
    pointer.tag === 'release'
      ? await planBundles({ blobs, documents, root, now }, pointer.repository, signal)
      : { stages: [], companions: [] };
  const shipment: Shipment = {
    ...pointer,
    order,
    stages: [...stages, [artifactParcel(pointer.artifact.digest, manifest, bytes)]],
    companions,
  };
  await checkWhole(blobs, shipment);
  return shipment;
};

const artifactParcel = (digest: Digest, manifest: Manifest, bytes: Buffer): Parcel => ({
  tag: releaseTag(digest),
  descriptor: descriptorOf(digest, manifest, bytes),
  bytes,
  blobs: [manifest.config, ...manifest.layers],
});

const descriptorOf = (digest: Digest, { mediaType, artifactType }: Manifest, bytes: Buffer): Descriptor => ({
  mediaType,
  digest,
  size: bytes.byteLength,
  ...(artifactType === undefined ? {} : { artifactType }),
});

/** Every blob is looked for before the first is sent. */
const checkWhole = async (blobs: BlobSource, { repository, tag, stages }: Shipment): Promise<void> => {
  for (const { digest, size } of stages.flat().flatMap((parcel) => parcel.blobs)) {
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
