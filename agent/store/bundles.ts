import type { Descriptor } from '#bundles/bundle/manifest';
import { type Bundle, ownBlobs } from '#bundles/bundle/read-bundle';
import { compareBytes, type Digest } from '#bundles/digest';
import type { State } from './state.ts';

/** A bundle that this store has had: its blobs, manifest and config first. */
type StoredBundle = { readonly digest: Digest; readonly blobs: readonly Descriptor[] };

export const saveBundle = ({ db }: State, bundle: Bundle): void => {
  db.prepare('INSERT OR REPLACE INTO bundle VALUES (?, ?, ?)').run(
    bundle.digest,
    bundle.kind,
    JSON.stringify(ownBlobs(bundle)),
  );
};

export const readBundles = ({ db }: State): readonly StoredBundle[] => {
  const rows = db.prepare('SELECT digest, blobs FROM bundle ORDER BY digest').all();
  return (rows as { digest: Digest; blobs: string }[]).map(({ digest, blobs }) => ({
    digest,
    blobs: JSON.parse(blobs) as Descriptor[],
  }));
};

/** Bundles whose every own blob is here: the base that a delta may assume. Sorted. */
export const heldBundles = async (state: State): Promise<readonly Digest[]> => {
  const present = new Set(await state.blobs.list());
  return readBundles(state)
    .filter(({ blobs }) => blobs.every(({ digest }) => present.has(digest)))
    .map(({ digest }) => digest)
    .toSorted(compareBytes);
};
