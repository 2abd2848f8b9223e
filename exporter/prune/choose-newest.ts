import type { Artifact } from '#bundles/collect/read-artifacts';
import type { Digest } from '#bundles/digest';

/**
 * What stays of a channel: what its pointers name, the `keep` newest releases by their numbers (media may have skipped some), and
 * what is newer than its pointer and so on its way.
 */
export const chooseNewest = (
  artifacts: readonly Artifact[],
  pinned: readonly Artifact[],
  keep: number,
): ReadonlySet<Digest> => {
  const kept = new Set(pinned.map(({ digest }) => digest));
  const all = [...artifacts, ...pinned];
  const numbersOf = (tag: Artifact['tag'], some: readonly Artifact[]): readonly number[] =>
    some.flatMap((artifact) => (artifact.tag === tag ? [artifact.order.number] : []));
  const releases = [...new Set(numbersOf('release', all))].toSorted((a, b) => b - a);
  const oldest = releases[Math.min(keep, releases.length) - 1] ?? 0;
  for (const { digest, tag, order } of artifacts) {
    const pointer = Math.max(0, ...numbersOf(tag, pinned));
    if (tag === 'release' ? order.number >= oldest : order.number > pointer) kept.add(digest);
  }
  return kept;
};
