import type { BundleConfig } from '#bundles/formats/bundle/config';
import { compareBytes } from '#bundles/digest';

/** Differences between two bundles of a channel: package ids and image names, each list sorted. */
export type BundleChanges = {
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly removed: readonly string[];
  /** Names from the bundle's closure. */
  readonly newImages: readonly string[];
  readonly goneImages: readonly string[];
};

/** @param before undefined if the channel has no release yet: then everything is added */
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
