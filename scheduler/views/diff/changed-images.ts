import { imagesIn } from '#bundles/formats/diff/images-in';
import type { Item } from '#bundles/formats/diff/read-items';
import { compareBytes } from '#bundles/digest';

/** An image whose versions on a cluster type changed. */
export type ImageChange = {
  readonly image: string;
  readonly from: readonly string[];
  readonly to: readonly string[];
};

/** Images by name, without those whose versions are the same on both sides. */
export const changedImages = (before: Iterable<Item>, after: Iterable<Item>): readonly ImageChange[] => {
  const [left, right] = [versionsIn(before), versionsIn(after)];
  const names = [...new Set([...left.keys(), ...right.keys()])].toSorted(compareBytes);
  return names
    .map((image) => ({
      image,
      from: [...(left.get(image) ?? [])].toSorted(compareBytes),
      to: [...(right.get(image) ?? [])].toSorted(compareBytes),
    }))
    .filter(({ from, to }) => from.join(' ') !== to.join(' '));
};

/** Cluster types share the objects of packages that do not differ. */
const known = new WeakMap<object, readonly string[]>();
const imagesOnce = (object: Item['object']): readonly string[] => {
  if (!object) return [];
  const images = known.get(object) ?? [...imagesIn(object)];
  known.set(object, images);
  return images;
};

const versionsIn = (items: Iterable<Item>): ReadonlyMap<string, ReadonlySet<string>> => {
  const found = new Map<string, Set<string>>();
  // Cluster types share most objects.
  for (const object of new Set([...items].map((item) => item.object))) {
    for (const image of imagesOnce(object)) {
      const [, name = image, version = ''] = /^(.*?)((?:@|:(?!.*\/)).*)?$/.exec(image) ?? [];
      const versions = found.get(name) ?? new Set<string>();
      found.set(name, versions.add(version === '' ? ':latest' : version));
    }
  }
  return found;
};
