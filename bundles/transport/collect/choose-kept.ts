import type { Digest } from '../../digest.ts';
import type { PointerTag } from '../publish/upload-batch.ts';
import type { Artifact } from './read-artifacts.ts';

export type Retention = {
  /** Earlier releases, found by following the predecessor that each release names. */
  readonly keep: number;
  /** Artifacts signed after this time stay. */
  readonly since: Date;
};

/**
 * Chooses the artifacts that stay: targets of pointers, their `keep` predecessors, recent ones, and those newer than their
 * pointer, which are being published.
 * @param pinned targets of pointers, in the registry and in the layout
 */
export const chooseKept = (
  artifacts: readonly Artifact[],
  pinned: readonly Artifact[],
  { keep, since }: Retention,
): ReadonlySet<Digest> => {
  const kept = new Set(pinned.map(({ digest }) => digest));
  const byStatement = new Map(artifacts.map((artifact) => [artifact.version.identity, artifact]));
  for (const pointer of pinned) {
    let before = pointer.previous === null ? undefined : byStatement.get(pointer.previous);
    for (let left = keep; left > 0 && before; left--) {
      kept.add(before.digest);
      before = before.previous === null ? undefined : byStatement.get(before.previous);
    }
  }
  // Releases and leases of a channel each have numbers of their own.
  const newest = new Map<PointerTag, number>();
  for (const { tag, version } of pinned) newest.set(tag, Math.max(newest.get(tag) ?? 0, version.number));
  for (const { digest, tag, version } of artifacts) {
    const known = newest.get(tag);
    const isArriving = known !== undefined && version.identity !== undefined && version.number > known;
    if (isArriving || version.at > since) kept.add(digest);
  }
  return kept;
};
