import { closureFiles } from '#bundles/bundle/closure-files';
import type { Descriptor } from '#bundles/bundle/manifest';
import { type Bundle, ownBlobs } from '#bundles/bundle/read-bundle';
import { compareBytes, type Digest } from '#bundles/digest';
import { FILE_BLOB, LAYER_HOST, LAYER_KUBERNETES } from '#bundles/media-types';
import type { State } from './state.ts';

/** A bundle that this store has had: its blobs, manifest and config first, then the layers, files and what vouches for images. */
type StoredBundle = { readonly digest: Digest; readonly blobs: readonly Descriptor[] };

export const saveBundle = ({ db }: State, bundle: Bundle): void => {
  db.prepare('INSERT OR REPLACE INTO bundle VALUES (?, ?, ?)').run(
    bundle.digest,
    bundle.kind,
    JSON.stringify(keptBlobs(bundle)),
  );
};

const keptBlobs = (bundle: Bundle): readonly Descriptor[] => [
  ...ownBlobs(bundle),
  ...closureFiles(bundle.config),
];

const LAYERS: ReadonlySet<string> = new Set([LAYER_KUBERNETES, LAYER_HOST, FILE_BLOB]);

/** Those that stay for ever: small, and what deltas and audits want. */
export const lastingBlobs = ({ blobs }: StoredBundle): readonly Digest[] =>
  blobs.flatMap(({ digest, mediaType }) => (LAYERS.has(mediaType) ? [] : [digest]));

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
