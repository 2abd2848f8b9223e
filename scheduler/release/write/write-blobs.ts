import type { Descriptor } from '#bundles/formats/layout/manifest';
import { type Digest, digestOf } from '#bundles/digest';
import type { BlobDirectory } from '#bundles/formats/layout/blob-directory';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import { readBlob } from '#bundles/formats/layout/verified';
import type { Channel } from '#bundles/names';
import type { BuiltBundle } from '../../assemble/bundle/built-bundle.ts';
import type { PackedBundle } from '../../assemble/bundle/pack-bundle.ts';
import { copyBlobs } from '../../assemble/images/copy-blobs.ts';
import { imageReference } from '../../load/releases/references.ts';

export type Copying = {
  readonly signal: AbortSignal;
  /** Blobs that the layout was found to have. */
  readonly whole: Set<Digest>;
};

/**
 * Copies the images and files of a bundle into the layout.
 * @returns index entries: each gets a tag of its own, which protects it from a registry's garbage collection
 */
export const copyImages = async (
  blobs: BlobDirectory,
  channel: Channel,
  { images, contents }: BuiltBundle,
  { signal, whole }: Copying,
): Promise<ReadonlyMap<string, Descriptor>> => {
  const all = [...images, ...contents];
  for (const one of all) await copyBlobs(blobs, one, signal, whole);
  return new Map(
    all.map(({ entry: { digest, size, mediaType } }) => [
      imageReference(channel, digest),
      { digest, size, mediaType },
    ]),
  );
};

/** Writes the blobs of a bundle, replacing damaged ones. @returns the number of blobs that were missing or damaged */
export const writeBundle = async (blobs: BlobDirectory, bundle: PackedBundle): Promise<number> => {
  let written = 0;
  for (const { descriptor, bytes } of [...bundle.blobs, bundle.manifest]) {
    if (await isWhole(blobs, descriptor)) continue;
    // A blob store skips a file of the right size, so a damaged one has to be removed first.
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

/** Restores the blobs of an unchanged bundle, which no other step writes again. @returns the number of blobs written */
export const restoreBlobs = async (
  blobs: BlobDirectory,
  { bundle, images, contents }: BuiltBundle,
  { signal, whole }: Copying,
): Promise<number> => {
  let written = await writeBundle(blobs, bundle);
  for (const one of [...images, ...contents]) written += await copyBlobs(blobs, one, signal, whole);
  return written;
};
