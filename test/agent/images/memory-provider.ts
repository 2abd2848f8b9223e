import type { ClosureEntry } from '#bundles/formats/bundle/config';
import type { Digest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { missingBlob, readBlob } from '#bundles/formats/layout/verified';
import { imageBlobs } from '#bundles/formats/bundle/image-blobs';
import type { ImageProvider } from '../../../agent/model/image-provider.ts';
import { type Blobs, sourceOf } from './image-fixture.ts';

export type MemoryProvider = ImageProvider & {
  readonly images: Map<Digest, ClosureEntry>;
  readonly blobs: Blobs;
  /** Everything it was asked to bring, in order. */
  readonly asked: Digest[];
  /** It does not answer any more. */
  silent: boolean;
};

/** Keeps images as containerd does: blobs by digest, and an image when all of it is there. */
export const memoryProvider = (directory?: string): MemoryProvider => {
  const provider: MemoryProvider = {
    name: 'memory',
    images: new Map(),
    blobs: new Map(),
    asked: [],
    silent: false,
    keeps: async (images) => {
      if (provider.silent) throw new FleetError('CONTAINERD_UNREACHABLE', 'silent');
      return new Set(images.map(({ digest }) => digest).filter((digest) => provider.images.has(digest)));
    },
    has: async (blobs) => new Set(blobs.filter((digest) => provider.blobs.has(digest))),
    read: async (digest) => (provider.blobs.has(digest) ? sourceOf(provider.blobs).open(digest) : undefined),
    bring: async (image, blobs, signal) => {
      provider.asked.push(image.digest);
      const either = new Map(provider.blobs);
      const parts = await imageBlobs(
        {
          name: blobs.name,
          size: async (digest) => (await blobs.size(digest)) ?? either.get(digest)?.byteLength,
          open: async (digest, own) =>
            either.has(digest) ? sourceOf(either).open(digest) : blobs.open(digest, own),
        },
        image,
        signal,
      );
      for (const { digest, size } of parts) {
        if (provider.blobs.has(digest)) continue;
        if ((await blobs.size(digest)) === undefined) throw missingBlob(digest, blobs.name);
        provider.blobs.set(digest, await readBlob(blobs, digest, size, signal));
      }
      provider.images.set(image.digest, image);
      return 'brought';
    },
    letGo: async (wanted) => {
      const keep = new Set(wanted.map(({ digest }) => digest));
      const old = [...provider.images.values()].filter(({ digest }) => !keep.has(digest));
      for (const { digest } of old) provider.images.delete(digest);
      return old.flatMap(({ names = [] }) => names).toSorted();
    },
    directory: async () => directory,
  };
  return provider;
};
