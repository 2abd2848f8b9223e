import type { ClosureEntry } from '#bundles/bundle/config';
import { imageBlobs } from '#bundles/bundle/image-blobs';
import { type Descriptor, isManifestType, MAX_MANIFEST_BYTES } from '#bundles/bundle/manifest';
import { compareBytes, type Digest } from '#bundles/digest';
import type { BlobSource } from '#bundles/layout/blobs';
import { newBuffers } from '#bundles/layout/read-span';
import { missingBlob, readBlob, verified } from '#bundles/layout/verified';
import { mirrorPath } from '#bundles/registry/mirror-path';
import { pushEvidence } from '#bundles/registry/push-evidence';
import { imageTag } from '#bundles/registry/references';
import type { Registry, Repository } from '#bundles/registry/registry';
import type { ImageProvider } from '../image-provider.ts';

/**
 * The site's own registry, as a mirror of all that images are called by. Each image has the tag 'i-<hex>', or a registry
 * that collects untagged manifests would take it. Tags are removed by people only: who else pulls from it, nobody here knows.
 */
export const registryProvider = (registry: Registry): ImageProvider => {
  const { host, prefix } = registry.address;
  /** Where what a delta left out was found, to mount it from there. */
  const foundIn = new Map<Digest, string>();
  /** Where it may be. */
  const known = new Set<string>();
  const pathsOf = ({ names = [] }: ClosureEntry): readonly string[] =>
    [...new Set(names.map(mirrorPath))].toSorted(compareBytes);

  const isThere = async (path: string, digest: Digest, signal: AbortSignal): Promise<boolean> =>
    (await registry.repository(path).resolve(imageTag(digest), signal))?.digest === digest;
  /** With what vouches for it: a signature may come later than the image. */
  const isWhole = async (path: string, image: ClosureEntry, signal: AbortSignal): Promise<boolean> => {
    for (const digest of [image.digest, ...(image.attachments ?? [])])
      if (!(await isThere(path, digest, signal))) return false;
    return true;
  };

  return {
    name: `registry ${host}${prefix && `/${prefix}`}`,
    keeps: async (images, signal) => {
      const whole = new Set<Digest>();
      for (const image of images) {
        const there = await Promise.all(pathsOf(image).map((path) => isWhole(path, image, signal)));
        if (there.every(Boolean)) whole.add(image.digest);
      }
      return whole;
    },
    has: async (blobs, images, signal) => {
      for (const path of images.flatMap(pathsOf)) known.add(path);
      const found = new Set<Digest>();
      for (const digest of blobs) {
        if ((await locate(digest, signal)) !== undefined) found.add(digest);
      }
      return found;
    },
    read: async (digest, signal) => {
      const path = await locate(digest, signal);
      return path === undefined ? undefined : registry.repository(path).blobs.open(digest, signal);
    },
    bring: async (image, blobs, signal) => {
      const paths = pathsOf(image);
      let sent = false;
      for (const [index, path] of paths.entries()) {
        if (await isWhole(path, image, signal)) continue;
        if (!(await isThere(path, image.digest, signal)))
          await push(path, image, blobs, index > 0 ? paths[0] : undefined, signal);
        await pushEvidence(registry.repository(path), image, orFrom(blobs), signal);
        sent = true;
      }
      return sent ? 'brought' : 'there';
    },
    letGo: async () => [],
    directory: async () => undefined,
  };

  async function locate(digest: Digest, signal?: AbortSignal): Promise<string | undefined> {
    const before = foundIn.get(digest);
    if (before !== undefined) return before;
    for (const path of [...known].toSorted(compareBytes)) {
      signal?.throwIfAborted();
      if ((await registry.repository(path).blobs.size(digest)) === undefined) continue;
      foundIn.set(digest, path);
      return path;
    }
    return undefined;
  }

  /** What an image is made of before the manifests that name it; its tag is the last of all. */
  async function push(
    path: string,
    image: ClosureEntry,
    blobs: BlobSource,
    sibling: string | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const repository = registry.repository(path);
    const source = orFrom(blobs);
    const parts = await imageBlobs(source, image, signal);
    for (const blob of parts.toReversed()) {
      signal.throwIfAborted();
      if (isManifestType(blob.mediaType)) await pushManifest(repository, blob, source, signal);
      else await pushBlob(repository, blob, blobs, sibling ?? foundIn.get(blob.digest), signal);
    }
    const bytes = await readBlob(source, image.digest, MAX_MANIFEST_BYTES, signal);
    await repository.pushManifest(imageTag(image.digest), { mediaType: image.mediaType, bytes }, signal);
  }

  /** What a delta leaves out may lie in another of our repositories there. */
  function orFrom(blobs: BlobSource): BlobSource {
    const elsewhere = async (digest: Digest): Promise<BlobSource | undefined> => {
      const path = await locate(digest);
      return path === undefined ? undefined : registry.repository(path).blobs;
    };
    return {
      name: blobs.name,
      size: async (digest) => (await blobs.size(digest)) ?? (await (await elsewhere(digest))?.size(digest)),
      open: async (digest, signal, buffers) => {
        if ((await blobs.size(digest)) !== undefined) return blobs.open(digest, signal, buffers);
        const other = await elsewhere(digest);
        if (other) return other.open(digest, signal, buffers);
        throw missingBlob(digest, blobs.name);
      },
    };
  }

  async function pushBlob(
    repository: Repository,
    { digest, size }: Descriptor,
    blobs: BlobSource,
    mountFrom: string | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const source = orFrom(blobs);
    const open = async (): Promise<AsyncIterable<Uint8Array>> =>
      verified(digest, size, await source.open(digest, signal, newBuffers(size)), source.name);
    await repository.pushBlob({ digest, size }, open, { mountFrom, signal });
  }

  async function pushManifest(
    repository: Repository,
    { digest, mediaType }: Descriptor,
    source: BlobSource,
    signal: AbortSignal,
  ): Promise<void> {
    if ((await repository.resolve(digest, signal)) !== undefined) return;
    const bytes = await readBlob(source, digest, MAX_MANIFEST_BYTES, signal);
    await repository.pushManifest(digest, { mediaType, bytes }, signal);
  }
};

/** As on the way out: a tag that is never moved. */
