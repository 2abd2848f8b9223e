import { isImage } from '#bundles/formats/bundle/image-blobs';
import { childrenOf, isManifestType, parseManifest } from '#bundles/formats/layout/manifest';
import { readBundle } from '#bundles/formats/bundle/read-bundle';
import type { Digest } from '#bundles/digest';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import { findManifest } from '#bundles/formats/layout/read-manifest';
import { FILE_BLOB } from '#bundles/media-types';
import type { BlobRef } from '#bundles/formats/medium/medium';

/** The role of a blob; in the next version of the bundle another blob has the same slot. */
export type Slot = BlobRef & {
  /** 'host/scale-reader', 'image/registry.example/web/linux-amd64/2' */
  readonly slot: string;
  /** Slots with similar content, such as the layers of one image. */
  readonly group: string;
};

/** Slots of a bundle's layers, and of its images with available manifests. @throws FleetError BUNDLE_FORMAT, MISSING_BLOB, DIGEST_MISMATCH */
export const slotsOf = async (
  blobs: BlobSource,
  digest: Digest,
  signal?: AbortSignal,
): Promise<readonly Slot[]> => {
  const { kind, manifest, config } = await readBundle(blobs, digest, signal);
  const sizes = new Map(manifest.layers.map((layer) => [layer.digest, layer.size]));
  const slots: Slot[] = config.assignments.map(({ id, layer }) => {
    const slot = kind === 'host' ? `host/${id}` : 'kubernetes';
    return { digest: layer, size: sizes.get(layer) ?? 0, slot, group: slot };
  });
  const files = new Map(
    config.closure
      .filter(({ mediaType }) => mediaType === FILE_BLOB)
      .map(({ digest, size }) => [digest, size]),
  );
  for (const { id, blobs: own = [] } of config.assignments) {
    for (const file of own) {
      const size = files.get(file);
      if (size !== undefined) slots.push({ digest: file, size, slot: file, group: `files/${id}` });
    }
  }
  for (const image of config.closure.filter(isImage)) {
    const repository = (image.names?.[0] ?? '').replace(/@.*$/, '');
    slots.push(...(await slotsOfImage(blobs, image.digest, `image/${repository}`, signal)));
  }
  return slots;
};

const slotsOfImage = async (
  blobs: BlobSource,
  digest: Digest,
  group: string,
  signal: AbortSignal | undefined,
): Promise<readonly Slot[]> => {
  const bytes = await findManifest(blobs, digest, signal);
  if (!bytes) return [];
  const manifest = parseManifest(bytes);
  if (!('manifests' in manifest))
    return manifest.layers.map((layer, index) => ({
      digest: layer.digest,
      size: layer.size,
      slot: `${group}/${index}`,
      group,
    }));
  const slots: Slot[] = [];
  for (const child of childrenOf(manifest)) {
    if (!isManifestType(child.mediaType)) continue;
    const { os = '', architecture = '', variant = '' } = child.platform ?? {};
    slots.push(
      ...(await slotsOfImage(blobs, child.digest, `${group}/${os}-${architecture}${variant}`, signal)),
    );
  }
  return slots;
};
