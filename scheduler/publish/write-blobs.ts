import type { Descriptor } from '#bundles/bundle/manifest';
import { digestOf } from '#bundles/digest';
import type { BlobDirectory } from '#bundles/layout/blob-directory';
import type { BlobSource } from '#bundles/layout/blobs';
import { readBlob, verified } from '#bundles/layout/verified';
import type { Channel } from '#bundles/names';
import type { BuiltBundle } from '../bundle/build-bundle.ts';
import type { PackedBundle } from '../bundle/pack-bundle.ts';
import { imageReference } from './references.ts';

/** Images and files go where the release is, each under a tag that keeps a registry from collecting it. */
export const copyImages = async (
  blobs: BlobDirectory,
  channel: Channel,
  { images, contents }: BuiltBundle,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Descriptor>> => {
  const all = [...images, ...contents];
  for (const one of all) await copyImage(blobs, one, signal);
  return new Map(
    all.map(({ entry: { digest, size, mediaType } }) => [
      imageReference(channel, digest),
      { digest, size, mediaType },
    ]),
  );
};

/** What an image is made of before the manifests that name it. @returns how many blobs were not there */
const copyImage = async (
  to: BlobDirectory,
  { source, blobs }: BuiltBundle['images'][number],
  signal: AbortSignal,
): Promise<number> => {
  let copied = 0;
  for (const { digest, size } of blobs.toReversed()) {
    if ((await to.size(digest)) === size) continue;
    await to.write(
      digest,
      size,
      verified(digest, size, await source.open(digest, signal), source.name),
      signal,
    );
    copied += 1;
  }
  return copied;
};

/** @returns how many blobs were missing or damaged */
export const writeBundle = async (blobs: BlobDirectory, bundle: PackedBundle): Promise<number> => {
  let written = 0;
  for (const { descriptor, bytes } of [...bundle.blobs, bundle.manifest]) {
    if (await isWhole(blobs, descriptor)) continue;
    // A file of the right size and other content would be taken for the blob.
    await blobs.remove(descriptor.digest);
    await blobs.write(descriptor.digest, descriptor.size, bytes);
    written += 1;
  }
  return written;
};

const isWhole = async (blobs: BlobSource, { digest, size }: Descriptor): Promise<boolean> => {
  if ((await blobs.size(digest)) !== size) return false;
  return digestOf(await readBlob(blobs, digest, size).catch(() => Buffer.alloc(0))) === digest;
};

/** A release that is out and has lost something on this disk is made whole again: nothing else ever would. */
export const restoreBlobs = async (
  blobs: BlobDirectory,
  { bundle, images, contents }: BuiltBundle,
  signal: AbortSignal,
): Promise<number> => {
  let written = await writeBundle(blobs, bundle);
  for (const one of [...images, ...contents]) written += await copyImage(blobs, one, signal);
  return written;
};
