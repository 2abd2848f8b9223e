import type { Digest } from '#bundles/digest';
import { FleetError, isFleetError, toFleetError } from '#bundles/errors';
import { normaliseImageName } from '#bundles/formats/bundle/image-name';
import { withPlace } from '../../model/with-place.ts';
import { chooseManifest } from './choose-manifest.ts';
import type { ImageReference } from './collect-references.ts';
import type { ImagePlaces } from '../../load/images/image-places.ts';

/** One line of the lock file. `image` is its key as it stands or will stand there, values are 'host/repo@sha256:...'. */
export type LockedImage = {
  readonly image: string;
  readonly before: string | undefined;
  readonly after: string;
  /** The index that its manifest was chosen from: what is signed is mostly that one. */
  readonly index?: Digest;
};

/** One that was looked up now, and where it is named. */
export type FreshImage = LockedImage & { readonly at: ImageReference['at'] };

export type LockOutcome = {
  /** All that the references need, in their order; equal `before` and `after`: as it was. */
  readonly locked: readonly LockedImage[];
  /** What could not be resolved; what was locked before stays. */
  readonly problems: readonly FleetError[];
};

/**
 * Finds a digest for every reference that has none yet.
 * @param locks what the file says now
 * @param renew is this image to be looked up again?
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
      const found = toFleetError(error, `looking for ${reference.image}`);
      if (isFleetError(found, 'INTERNAL') || isFleetError(found, 'ABORTED')) throw found;
      problems.push(withPlace(found, reference.at));
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
