import type { Item } from '#bundles/formats/diff/read-items';
import { compareBytes } from '#bundles/digest';

/** An image that a cluster type runs in other versions than before. */
export type ImageChange = {
  readonly image: string;
  readonly from: readonly string[];
  readonly to: readonly string[];
};

const LISTS: ReadonlySet<string> = new Set(['containers', 'initContainers', 'ephemeralContainers']);

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

const versionsIn = (items: Iterable<Item>): ReadonlyMap<string, ReadonlySet<string>> => {
  const found = new Map<string, Set<string>>();
  for (const { object } of items) {
    for (const image of imagesIn(object)) {
      const [, name = image, version = ''] = /^(.*?)((?:@|:(?!.*\/)).*)?$/.exec(image) ?? [];
      const versions = found.get(name) ?? new Set<string>();
      found.set(name, versions.add(version === '' ? ':latest' : version));
    }
  }
  return found;
};

/** Wherever a pod template may hide. */
const imagesIn = (value: unknown): readonly string[] => {
  if (Array.isArray(value)) return value.flatMap(imagesIn);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, below]: [string, unknown]) => [
    ...(LISTS.has(key) && Array.isArray(below) ? below.flatMap(imageOf) : []),
    ...imagesIn(below),
  ]);
};

const imageOf = (container: unknown): readonly string[] => {
  const { image } = (container ?? {}) as Record<string, unknown>;
  return typeof image === 'string' ? [image] : [];
};
