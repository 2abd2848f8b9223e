import type { BundleConfig } from '#bundles/bundle/config';
import { compareBytes } from '#bundles/digest';

/** What a bundle would change at the sites that run another one. Sorted lists. */
export type BundleChanges = {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
  /** Images by their names, as the closure has them. */
  readonly newImages: readonly string[];
  readonly goneImages: readonly string[];
};

/** @param before undefined: nothing runs yet */
export const compareBundles = (before: BundleConfig | undefined, after: BundleConfig): BundleChanges => {
  const [old, now] = [packagesOf(before), packagesOf(after)];
  const [oldImages, newImages] = [imagesOf(before), imagesOf(after)];
  const sorted = (names: Iterable<string>): readonly string[] => [...names].toSorted(compareBytes);
  return {
    added: sorted([...now.keys()].filter((id) => !old.has(id))),
    changed: sorted(
      [...now].filter(([id, digest]) => old.has(id) && old.get(id) !== digest).map(([id]) => id),
    ),
    removed: sorted([...old.keys()].filter((id) => !now.has(id))),
    newImages: sorted(newImages.difference(oldImages)),
    goneImages: sorted(oldImages.difference(newImages)),
  };
};

const packagesOf = (config: BundleConfig | undefined): ReadonlyMap<string, string> =>
  new Map((config?.assignments ?? []).map((it) => [it.id, it.package]));

const imagesOf = (config: BundleConfig | undefined): Set<string> =>
  new Set((config?.closure ?? []).flatMap(({ names = [] }) => names));
