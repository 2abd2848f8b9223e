import { readBundle } from '#bundles/formats/bundle/read-bundle';
import type { Layout } from '#bundles/formats/layout/layout';
import type { BundlePredicate } from '#bundles/formats/statements/predicates';
import type { BuiltBundle } from '../../assemble/bundle/built-bundle.ts';
import type { StoredRelease } from '../../load/releases/read-release.ts';

/** Names of assignments that a statement or a build holds because a person rolled them back. */
const takenBackIn = (
  held: readonly { readonly assignment: string; readonly code: string }[] = [],
): ReadonlySet<string> =>
  new Set(held.flatMap(({ assignment, code }) => (code === 'ROLLED_BACK' ? [assignment] : [])));

/** The difference between a bundle and the released one, as far as rollbacks of single assignments explain it. */
export type RollbackChange = {
  /** True if only rollbacks, begun or ended, changed it. */
  readonly only: boolean;
  /** True if a rollback began. */
  readonly back: boolean;
};

/**
 * @param held of the statement of the new bundle
 * @param before of the statement of the released one
 */
export const rollbackChange = async (
  layout: Layout,
  { bundle }: BuiltBundle,
  previous: StoredRelease | undefined,
  { held, before }: { readonly held: BundlePredicate['held']; readonly before: BundlePredicate['held'] },
): Promise<RollbackChange> => {
  const [now, was] = [takenBackIn(held), takenBackIn(before)];
  const released = previous?.subjects.get(`bundle/${bundle.kind}`);
  if (now.size + was.size === 0 || released === undefined) return { only: false, back: false };
  const { config } = await readBundle(layout.blobs, released);
  const packages = new Map(config.assignments.map((one) => [one.id, one.package]));
  const built = new Map(bundle.config.assignments.map((one) => [one.id, one.package]));
  const changed = [...new Set([...packages.keys(), ...built.keys()])].filter(
    (id) => packages.get(id) !== built.get(id),
  );
  return {
    only: changed.every((id) => now.has(id) || was.has(id)),
    back: changed.every((id) => now.has(id)),
  };
};
