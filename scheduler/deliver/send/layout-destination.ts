import { MAX_MANIFEST_BYTES } from '#bundles/formats/layout/manifest';
import { type Digest, digestOf, isDigest } from '#bundles/digest';
import { openBlobDirectory } from '#bundles/formats/layout/blob-directory';
import {
  findReference,
  layoutReference,
  openOrStartLayout,
  withReference,
  writeLayoutIndex,
} from '#bundles/formats/layout/layout';
import { readBlob } from '#bundles/formats/layout/verified';
import type { Destination, TargetRepository } from '#bundles/transport/publish/destination';
import { createLimit } from '#bundles/transport/publish/limit';
import { waitForLayout } from '../../release/write/wait-for-layout.ts';

/**
 * Opens a layout directory as a destination to publish to. It is locked until disposal. Tags and the order of writes are the
 * same as for a registry.
 * @throws FleetError BUSY, LAYOUT_INVALID, PERMISSION, DISK_FULL
 */
export const openLayoutDestination = async (
  directory: string,
  now: Date,
  waitMs?: number,
): Promise<Destination> => {
  const lock = await waitForLayout(directory, { command: 'publish', now, waitMs });
  const blobs = openBlobDirectory(directory, `layout ${directory}`);
  // One at a time, because each call reads and rewrites the whole index.
  const inTurn = createLimit(1);
  const resolve = async (path: string, reference: string) => {
    if (!isDigest(reference))
      return findReference(await openOrStartLayout(directory), layoutReference(path, reference));
    const size = await blobs.size(reference);
    return size === undefined
      ? undefined
      : { mediaType: 'application/octet-stream', digest: reference, size };
  };
  const repository = (path: string): TargetRepository => ({
    name: `${directory}/${path}`,
    resolve: (reference) => resolve(path, reference),
    fetchManifest: async (reference, signal) => {
      const descriptor = await resolve(path, reference);
      if (!descriptor) return undefined;
      return { descriptor, bytes: await readBlob(blobs, descriptor.digest, MAX_MANIFEST_BYTES, signal) };
    },
    blobs,
    pushBlob: async ({ digest, size }, open, options) => {
      if ((await blobs.size(digest)) === size) return 'there';
      await blobs.write(digest, size, await open(), options?.signal);
      return 'uploaded';
    },
    pushManifest: async (reference, { mediaType, bytes }) => {
      const digest: Digest = digestOf(bytes);
      await blobs.write(digest, bytes.byteLength, bytes);
      if (isDigest(reference)) return;
      await inTurn(async () => {
        const layout = await openOrStartLayout(directory);
        const descriptor = { mediaType, digest, size: bytes.byteLength };
        const entries = withReference(layout.manifests, layoutReference(path, reference), descriptor);
        await writeLayoutIndex(layout, entries);
      });
    },
    referrers: async () => [],
  });
  return {
    name: directory,
    repository,
    hasReferrers: false,
    [Symbol.asyncDispose]: async () => lock[Symbol.dispose](),
  };
};
