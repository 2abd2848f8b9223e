import type { FleetError } from '#bundles/errors';
import { normaliseImageName } from '#bundles/formats/bundle/image-name';
import { toProblem } from '../../model/problems.ts';
import { withPlace } from '../../model/with-place.ts';
import type { ImagePlaces } from '../../load/images/image-places.ts';
import { type FoundImage, findImage } from './find-image.ts';
import { reopenLock } from './reopen-lock.ts';
import type { ImageReference, ImageLocks, LockedImage } from './image-lock.ts';

/** An image that this run looked up, and the place that names it. */
export type FreshImage = LockedImage & { readonly at: ImageReference['at'] };

export type LockOutcome = {
  /** Entries of all references, in their order. `before` equal to `after`: unchanged. */
  readonly locked: readonly LockedImage[];
  /** Errors of references that could not be resolved; their locked entries stay. */
  readonly problems: readonly FleetError[];
};

/**
 * Finds a digest for every reference without one, and another one of the same version where a locked manifest does not serve the
 * platforms of today's cluster types.
 * @param locks current entries of the file
 * @param renew whether a locked image is looked up again
 */
export const lockImages = async (
  references: readonly ImageReference[],
  locks: ImageLocks,
  places: ImagePlaces,
  renew: (reference: string) => boolean,
  signal: AbortSignal,
): Promise<LockOutcome> => {
  const known = new Map([...locks.images].map(([key, value]) => [normaliseImageName(key), { key, value }]));
  const locked: LockedImage[] = [];
  const problems: FleetError[] = [];
  for (const reference of references) {
    const full = normaliseImageName(reference.image);
    const old = known.get(full);
    const find = (): Promise<FoundImage> =>
      old && !renew(full)
        ? reopenLock({ reference, full, pinned: old.value, locks, places }, signal)
        : findImage(reference, full, places, signal);
    try {
      locked.push({ image: old?.key ?? reference.image, before: old?.value, ...(await find()) });
    } catch (error) {
      problems.push(withPlace(toProblem(error, `looking for ${reference.image}`), reference.at));
    }
  }
  return { locked, problems };
};
