import type { ClosureEntry } from '#bundles/formats/bundle/config';
import { imageBlobs } from '#bundles/formats/bundle/image-blobs';
import { type Descriptor, isManifestType, MAX_MANIFEST_BYTES } from '#bundles/formats/layout/manifest';
import { compareBytes, type Digest } from '#bundles/digest';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import { missingBlob, readBlob, verified } from '#bundles/formats/layout/verified';
import { mirrorPath } from '#bundles/transport/registry/mirror-path';
import { pushEvidence } from '#bundles/transport/registry/push-evidence';
import { imageTag } from '#bundles/transport/registry/references';
import type { Registry, Repository } from '#bundles/transport/registry/registry';
import type { ImageProvider } from '../../model/image-provider.ts';

/**
 * Pushes images to the site's registry, which mirrors their names. Each image has the tag 'i-<hex>', because a registry may
 * collect untagged manifests. The agent never removes tags, because other clients may pull from the registry.
 */
export const registryProvider = (registry: Registry): ImageProvider => {
  const { host, prefix } = registry.address;
  /** Digest -> repository path where a blob was found, to mount it from there. */
  const foundIn = new Map<Digest, string>();
  /** Repository paths to search. */
  const known = new Set<string>();
  const pathsOf = ({ names = [] }: ClosureEntry): readonly string[] =>
    [...new Set(names.map(mirrorPath))].toSorted(compareBytes);

  const isPresent = async (path: string, digest: Digest, signal: AbortSignal): Promise<boolean> =>
    (await registry.repository(path).resolve(imageTag(digest), signal))?.digest === digest;
  /** True if the image and its signatures, which may arrive later, are present. */
  const isWhole = async (path: string, image: ClosureEntry, signal: AbortSignal): Promise<boolean> => {
    for (const digest of [image.digest, ...(image.attachments ?? [])])
      if (!(await isPresent(path, digest, signal))) return false;
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
        if (!(await isPresent(path, image.digest, signal)))
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
    // Asked each time, because the garbage collection of a registry removes blobs that no manifest names.
    const before = foundIn.get(digest);
    const paths = [...known].toSorted(compareBytes);
    for (const path of new Set(before === undefined ? paths : [before, ...paths])) {
      signal?.throwIfAborted();
      if ((await registry.repository(path).blobs.size(digest)) === undefined) continue;
      foundIn.set(digest, path);
      return path;
    }
    return undefined;
  }

  /** Pushes blobs before the manifests that refer to them, and the tag last. */
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

  /** Reads blobs that a delta leaves out from other known repositories of the registry. */
  function orFrom(blobs: BlobSource): BlobSource {
    const elsewhere = async (digest: Digest): Promise<BlobSource | undefined> => {
      const path = await locate(digest);
      return path === undefined ? undefined : registry.repository(path).blobs;
    };
    return {
      name: blobs.name,
      size: async (digest) => (await blobs.size(digest)) ?? (await (await elsewhere(digest))?.size(digest)),
      open: async (digest, signal) => {
        if ((await blobs.size(digest)) !== undefined) return blobs.open(digest, signal);
        const other = await elsewhere(digest);
        if (other) return other.open(digest, signal);
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
      verified(digest, size, await source.open(digest, signal), source.name);
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
