import type { Digest } from '#bundles/digest';
import type { Artifact } from './read-artifacts.ts';

export type Retention = {
  /** Releases before the current one, by what each says came before it. */
  readonly keep: number;
  /** What was signed after this stays. */
  readonly since: Date;
};

/**
 * Which artifacts stay: what pointers name, some before them, what is young, and what is newer than its pointer and so
 * on its way.
 * @param pinned what pointers name, here and in the layout
 */
export const chooseKept = (
  artifacts: readonly Artifact[],
  pinned: readonly Artifact[],
  { keep, since }: Retention,
): ReadonlySet<Digest> => {
  const kept = new Set(pinned.map(({ digest }) => digest));
  const byStatement = new Map(artifacts.map((artifact) => [artifact.order.identity, artifact]));
  for (const pointer of pinned) {
    let before = pointer.previous === null ? undefined : byStatement.get(pointer.previous);
    for (let left = keep; left > 0 && before; left--) {
      kept.add(before.digest);
      before = before.previous === null ? undefined : byStatement.get(before.previous);
    }
  }
  const newest = Math.max(0, ...pinned.map(({ order }) => order.number));
  for (const { digest, order } of artifacts) {
    const onItsWay = pinned.length > 0 && order.identity !== undefined && order.number > newest;
    if (onItsWay || order.at > since) kept.add(digest);
  }
  return kept;
};
