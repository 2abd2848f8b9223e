import type { Digest } from '#bundles/digest';
import { FleetError, type Place } from '#bundles/errors';
import { normaliseImageName } from '#bundles/formats/bundle/image-name';
import { toProblem } from '../../model/problems.ts';
import { withPlace } from '../../model/with-place.ts';
import { chooseManifest } from './choose-manifest.ts';
import type { ImagePlaces } from '../../load/images/image-places.ts';

/** An image that manifests or quadlets name by a tag. */
export type ImageReference = {
  /** As the first manifest writes it: 'nginx:1.27'. */
  readonly image: string;
  /** Place in that manifest. */
  readonly at: Place;
  /** Platforms of all cluster types that run it, sorted; empty: all platforms of the registry's image. */
  readonly platforms: readonly string[];
};

/** One entry of the lock file. `image` is its key, values are 'host/repo@sha256:...'. */
export type LockedImage = {
  readonly image: string;
  readonly before: string | undefined;
  readonly after: string;
  /** The index that its manifest was chosen from. Signatures usually refer to the index. */
  readonly index?: Digest;
};

/** An image that this run looked up, and the place that names it. */
export type FreshImage = LockedImage & { readonly at: ImageReference['at'] };

export type LockOutcome = {
  /** Entries of all references, in their order. `before` equal to `after`: unchanged. */
  readonly locked: readonly LockedImage[];
  /** Errors of references that could not be resolved; their locked entries stay. */
  readonly problems: readonly FleetError[];
};

/**
 * Finds a digest for every reference without one.
 * @param locks current entries of the file
 * @param renew whether a locked image is looked up again
 */
export const lockImages = async (
  references: readonly ImageReference[],
  locks: ReadonlyMap<string, string>,
  places: ImagePlaces,
  renew: (reference: string) => boolean,
  signal: AbortSignal,
): Promise<LockOutcome> => {
  const known = new Map([...locks].map(([key, value]) => [normaliseImageName(key), { key, value }]));
  const locked: LockedImage[] = [];
  const problems: FleetError[] = [];
  for (const reference of references) {
    const full = normaliseImageName(reference.image);
    const old = known.get(full);
    const image = old?.key ?? reference.image;
    if (old && !renew(full)) {
      locked.push({ image, before: old.value, after: old.value });
      continue;
    }
    try {
      locked.push({ image, before: old?.value, ...(await resolve(reference, full, places, signal)) });
    } catch (error) {
      problems.push(withPlace(toProblem(error, `looking for ${reference.image}`), reference.at));
    }
  }
  return { locked, problems };
};

const resolve = async (
  { image, platforms }: ImageReference,
  full: string,
  places: ImagePlaces,
  signal: AbortSignal,
): Promise<Pick<LockedImage, 'after' | 'index'>> => {
  const found = await places.find(full, signal);
  if (!found) {
    throw new FleetError('IMAGE_MISSING', `the image ${image} is not in ${places.name}`, {
      hint: 'Is the tag right, and was it pushed?',
    });
  }
  const digest = await chooseManifest(found.source, found.descriptor, platforms, image, signal);
  const top = found.descriptor.digest;
  return {
    after: `${full.slice(0, full.lastIndexOf(':'))}@${digest}`,
    ...(digest !== top && { index: top }),
  };
};
