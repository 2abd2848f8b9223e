import { defined } from '#bundles/defined';
import type { Descriptor } from '#bundles/formats/layout/manifest';
import { compareBytes } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import type { ImagePlaces } from '../../load/images/image-places.ts';
import { canonicalPlatform, chooseManifest } from './choose-manifest.ts';
import type { ImageReference, LockedImage } from './image-lock.ts';

export type FoundImage = Pick<LockedImage, 'after' | 'index' | 'platforms'>;

type Wanted = Pick<ImageReference, 'image' | 'platforms'>;

/**
 * The lock entry for the digest that a tag names today. @param full 'host/repo:tag'
 * @throws FleetError IMAGE_MISSING for a tag or platform that is not there; LAYOUT_INVALID, DIGEST_MISMATCH; REGISTRY_*
 */
export const findImage = async (
  wanted: Wanted,
  full: string,
  places: ImagePlaces,
  signal: AbortSignal,
): Promise<FoundImage> => {
  const found = await places.find(full, signal);
  if (!found) {
    throw new FleetError('IMAGE_MISSING', `the image ${wanted.image} is not in ${places.name}`, {
      hint: 'Is the tag right, and was it pushed?',
    });
  }
  return chooseFrom(found, wanted, full, signal);
};

/** The entry for an image whose manifest or index is known. @throws FleetError as findImage */
export const chooseFrom = async (
  { source, descriptor }: { readonly source: BlobSource; readonly descriptor: Descriptor },
  { image, platforms }: Wanted,
  full: string,
  signal: AbortSignal,
): Promise<FoundImage> => {
  const digest = await chooseManifest(source, descriptor, platforms, image, signal);
  return defined({
    after: `${full.slice(0, full.lastIndexOf(':'))}@${digest}`,
    index: digest !== descriptor.digest ? descriptor.digest : undefined,
    platforms: platforms.length > 0 ? canonicalPlatforms(platforms) : undefined,
  });
};

/** Sorted, each once. */
export const canonicalPlatforms = (platforms: readonly string[]): readonly string[] =>
  [...new Set(platforms.map(canonicalPlatform))].toSorted(compareBytes);
