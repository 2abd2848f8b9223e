import { isDigest } from '#bundles/digest';
import { FleetError, type Place } from '#bundles/errors';

/** 'nginx:1.27' and 'docker.io/library/nginx:1.27' are one image: host and library written out, tag dropped for a digest. */
export const normaliseImage = (
  image: string,
): { readonly repository: string; readonly tag: string | undefined; readonly digest: string | undefined } => {
  const [name = '', digest] = image.split('@', 2);
  const slash = name.lastIndexOf('/');
  const colon = name.indexOf(':', slash + 1);
  const path = colon === -1 ? name : name.slice(0, colon);
  const tag = colon === -1 ? undefined : name.slice(colon + 1);
  const [first = '', ...rest] = path.split('/');
  const hasHost = rest.length > 0 && (/[.:]/.test(first) || first === 'localhost');
  const repository = hasHost ? path : `docker.io/${rest.length > 0 ? path : `library/${path}`}`;
  return { repository, tag, digest };
};

/**
 * The one form an image has in a bundle, 'host/repo@sha256:...': by its own digest or by the lock file. A tag alone is
 * refused: it would run something else next month. @throws FleetError IMAGE_UNPINNED
 */
export const pinImage = (image: string, locks: ReadonlyMap<string, string>, at: Place): string => {
  const { repository, digest } = normaliseImage(image);
  if (isDigest(digest)) return `${repository}@${digest}`;
  const locked = locks.get(image) ?? [...locks].find(([name]) => sameTag(name, image))?.[1];
  const lockedDigest = locked && normaliseImage(locked).digest;
  if (isDigest(lockedDigest)) return `${repository}@${lockedDigest}`;
  throw new FleetError('IMAGE_UNPINNED', `the image ${image} has no digest`, {
    at,
    hint: 'Run fleet-scheduler images lock, which writes images.lock.yaml, or write it with @sha256:...',
  });
};

const sameTag = (a: string, b: string): boolean => {
  const [one, two] = [normaliseImage(a), normaliseImage(b)];
  return one.repository === two.repository && (one.tag ?? 'latest') === (two.tag ?? 'latest');
};
