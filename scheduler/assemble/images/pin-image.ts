import { FleetError, type Place } from '#bundles/errors';
import { normaliseImageName, parseImageName, repositoryOf } from '#bundles/formats/bundle/image-name';

/**
 * Returns the form that an image has in a bundle, 'host/repo@sha256:...', by its own digest or by the lock file. A tag without
 * a lock entry is refused, because its target can change. @throws FleetError IMAGE_UNPINNED, OBJECT_INVALID for an invalid
 * image name
 */
export const pinImage = (image: string, locks: ReadonlyMap<string, string>, at: Place): string => {
  const name = parseImageName(image);
  if (!name) {
    throw new FleetError('OBJECT_INVALID', `${JSON.stringify(image.slice(0, 80))} is not an image name`, {
      at,
      hint: 'Write it like host/repository:tag, the repository in lower case',
    });
  }
  const locked = locks.get(image) ?? bySpelling(locks).get(normaliseImageName(image));
  const digest = name.digest ?? parseImageName(locked ?? '')?.digest;
  if (digest !== undefined) return `${repositoryOf(name)}@${digest}`;
  throw new FleetError('IMAGE_UNPINNED', `the image ${image} has no digest`, {
    at,
    hint: 'Run fleet-scheduler images lock, which writes images.lock.yaml, or write it with @sha256:...',
  });
};

const normalised = new WeakMap<ReadonlyMap<string, string>, ReadonlyMap<string, string>>();

/** The lock file's entries by the normal form of their keys; the first one of several spellings. */
const bySpelling = (locks: ReadonlyMap<string, string>): ReadonlyMap<string, string> => {
  const known = normalised.get(locks);
  if (known) return known;
  const made = new Map([...locks].toReversed().map(([key, value]) => [normaliseImageName(key), value]));
  normalised.set(locks, made);
  return made;
};
