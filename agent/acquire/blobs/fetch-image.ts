import { imageBlobs } from '#bundles/formats/bundle/image-blobs';
import type { Descriptor } from '#bundles/formats/layout/manifest';
import { isFleetError } from '#bundles/errors';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import type { Agent } from '../../store/agent.ts';
import type { ImageTask } from '../../images/plan-images.ts';
import { isBegun, partialBytes } from '../../store/partial-blobs.ts';
import { pinForPull } from '../../store/pull.ts';
import { firstOf } from '#bundles/formats/layout/first-of';
import { copyBlob } from './copy-blob.ts';
import { onDisk, RESERVED_BYTES } from './free-space.ts';

/** Smaller blobs, in bytes, arrive before a line breaks again. */
const LARGE = 1 << 20;

/**
 * Brings an image from the source to its provider. A provider takes blobs as a whole, so a large one would begin again after each break of a
 * line. After the first break the large blobs go through the store, where they are continued at the next pull, if the disk has room for them.
 */
export const fetchImage = async (
  agent: Agent,
  { provider, image }: Pick<ImageTask, 'provider' | 'image'>,
  source: BlobSource,
): Promise<void> => {
  const { state, signal } = agent;
  const large = source.openFrom ? await largeBlobs(source, image, signal) : [];
  if (!large.some(({ digest }) => isBegun(state, digest))) {
    try {
      // A delta may leave out the image's evidence, which is then in the store.
      await provider.bring(image, firstOf(source, state.blobs), signal);
      return;
    } catch (error) {
      if (large.length === 0 || !isFleetError(error, 'REGISTRY_UNREACHABLE')) throw error;
      if (!(await hasRoom(agent, large))) throw error;
    }
  }
  const digests = large.map(({ digest }) => digest);
  const there = await provider.has(digests, [image], signal);
  pinForPull(state, digests);
  for (const blob of large) if (!there.has(blob.digest)) await copyBlob(agent, source, blob);
  await provider.bring(image, { ...firstOf(state.blobs, source), name: source.name }, signal);
};

const largeBlobs = async (
  source: BlobSource,
  image: ImageTask['image'],
  signal: AbortSignal,
): Promise<readonly Descriptor[]> =>
  (await imageBlobs(source, image, signal)).filter(({ size }) => size > LARGE);

const hasRoom = async ({ state, freeBytes }: Agent, blobs: readonly Descriptor[]): Promise<boolean> => {
  const needed = blobs.reduce(
    (sum, { digest, size }) => sum + onDisk(size) - partialBytes(state, digest),
    RESERVED_BYTES,
  );
  return (await freeBytes(state.directory)) >= needed;
};
