import { defined } from '#bundles/defined';
import type { ClosureEntry } from '#bundles/formats/bundle/config';
import { imageBlobs, isImage } from '#bundles/formats/bundle/image-blobs';
import type { Descriptor } from '#bundles/formats/layout/manifest';
import type { Bundle } from '#bundles/formats/bundle/read-bundle';
import { compareBytes, type Digest } from '#bundles/digest';
import { normaliseImageName } from '#bundles/formats/bundle/image-name';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import type { ImageProvider } from '../model/image-provider.ts';

/** An image and a provider that does not have it yet. */
export type ImageTask = {
  readonly provider: ImageProvider;
  readonly image: ClosureEntry;
  /** Size of the blobs that the provider lacks. */
  readonly bytes: number;
};

export type ImagePlan = {
  readonly tasks: readonly ImageTask[];
  /** Blobs that neither the source nor the provider has. */
  readonly absent: readonly Descriptor[];
  /** Number of images that are not copied, because no provider is configured. */
  readonly left: number;
};

/** Every image of Kubernetes bundles once, with all its names. Sorted by digest. */
export const imagesOf = (bundles: readonly Pick<Bundle, 'kind' | 'config'>[]): readonly ClosureEntry[] => {
  const images = new Map<Digest, ClosureEntry>();
  for (const { kind, config } of bundles) {
    if (kind !== 'kubernetes') continue;
    for (const entry of config.closure.filter(isImage)) {
      const known = images.get(entry.digest);
      // The kubelet looks for the normalised name, which bundles of older schedulers may lack.
      const own = (entry.names ?? []).flatMap((name) => [name, normaliseImageName(name)]);
      const names = new Set([...(known?.names ?? []), ...own]);
      const attachments = new Set([...(known?.attachments ?? []), ...(entry.attachments ?? [])]);
      images.set(entry.digest, {
        ...entry,
        names: [...names].toSorted(compareBytes),
        ...defined({
          attachments: attachments.size > 0 ? [...attachments].toSorted(compareBytes) : undefined,
          attachmentTags:
            (known?.attachmentTags ?? entry.attachmentTags)
              ? { ...known?.attachmentTags, ...entry.attachmentTags }
              : undefined,
        }),
      });
    }
  }
  return [...images.values()].toSorted((a, b) => compareBytes(a.digest, b.digest));
};

/**
 * Determines which images to copy to which providers. An image that a provider has costs one query, regardless of its size.
 * @param known images that were copied before and may contain blobs that a delta leaves out
 * @throws FleetError the error of a provider, or of a damaged manifest
 */
export const planImages = async (
  providers: readonly ImageProvider[],
  images: readonly ClosureEntry[],
  source: BlobSource,
  known: () => Promise<readonly ClosureEntry[]>,
  signal: AbortSignal,
): Promise<ImagePlan> => {
  if (providers.length === 0) return { tasks: [], absent: [], left: images.length };
  const tasks: ImageTask[] = [];
  const absent = new Map<Digest, Descriptor>();
  for (const provider of providers) {
    const kept = await provider.keeps(images, signal);
    const parts = new Map<Digest, readonly Descriptor[]>();
    for (const image of images) {
      if (!kept.has(image.digest)) parts.set(image.digest, await imageBlobs(source, image, signal));
    }
    const blobs = new Map([...parts.values()].flat().map((blob) => [blob.digest, blob]));
    const missing: Descriptor[] = [];
    for (const blob of blobs.values()) {
      if ((await source.size(blob.digest)) === undefined) missing.push(blob);
    }
    const has =
      missing.length === 0
        ? new Set<Digest>()
        : await provider.has(
            missing.map(({ digest }) => digest),
            [...images, ...(await known())],
            signal,
          );
    for (const blob of missing) if (!has.has(blob.digest)) absent.set(blob.digest, blob);
    const gone = new Set(missing.map(({ digest }) => digest));
    // A layer that two images share counts for the first.
    const counted = new Set<Digest>();
    for (const image of images) {
      const own = parts.get(image.digest);
      if (!own) continue;
      const fresh = own.filter(({ digest }) => !gone.has(digest) && !counted.has(digest));
      for (const { digest } of fresh) counted.add(digest);
      tasks.push({ provider, image, bytes: fresh.reduce((sum, { size }) => sum + size, 0) });
    }
  }
  return { tasks, absent: [...absent.values()], left: 0 };
};
