import { imagesIn } from '#bundles/formats/diff/images-in';
import type { Item } from '#bundles/formats/diff/read-items';
import { compareBytes } from '#bundles/digest';

/** An image whose versions on a cluster type changed. */
export type ImageChange = {
  readonly image: string;
  readonly from: readonly string[];
  readonly to: readonly string[];
};

/** Images by name, without those whose versions are the same on both sides. @param same images of packages that are the same on both sides */
export const changedImages = (
  before: Iterable<Item>,
  after: Iterable<Item>,
  same: Iterable<string>,
): readonly ImageChange[] => {
  const [left, right] = [versionsIn(before, same), versionsIn(after, same)];
  const names = [...new Set([...left.keys(), ...right.keys()])].toSorted(compareBytes);
  return names
    .map((image) => ({
      image,
      from: [...(left.get(image) ?? [])].toSorted(compareBytes),
      to: [...(right.get(image) ?? [])].toSorted(compareBytes),
    }))
    .filter(({ from, to }) => from.join(' ') !== to.join(' '));
};

const versionsIn = (
  items: Iterable<Item>,
  same: Iterable<string>,
): ReadonlyMap<string, ReadonlySet<string>> => {
  const found = new Map<string, Set<string>>();
  // Cluster types share most objects.
  const objects = new Set([...items].map((item) => item.object));
  for (const image of new Set([...same, ...[...objects].flatMap(imagesIn)])) {
    const [, name = image, version = ''] = /^(.*?)((?:@|:(?!.*\/)).*)?$/.exec(image) ?? [];
    const versions = found.get(name) ?? new Set<string>();
    found.set(name, versions.add(version === '' ? ':latest' : version));
  }
  return found;
};
