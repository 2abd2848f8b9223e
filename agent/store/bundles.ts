import { closureFiles } from '#bundles/formats/bundle/closure-files';
import type { Descriptor } from '#bundles/formats/layout/manifest';
import { type Bundle, ownBlobs } from '#bundles/formats/bundle/read-bundle';
import { compareBytes, type Digest } from '#bundles/digest';
import { FILE_BLOB, LAYER_HOST, LAYER_KUBERNETES } from '#bundles/media-types';
import type { State } from './state.ts';

/** A bundle that was accepted into this store, with its blobs: manifest and config, then layers, files and image evidence. */
type StoredBundle = { readonly digest: Digest; readonly blobs: readonly Descriptor[] };

export const saveBundle = ({ db }: State, bundle: Bundle): void => {
  db.prepare('INSERT OR REPLACE INTO bundle VALUES (?, ?, ?)').run(
    bundle.digest,
    bundle.kind,
    JSON.stringify(keptBlobs(bundle)),
  );
};

const keptBlobs = (bundle: Bundle): readonly Descriptor[] => {
  const ofPackages = new Set(bundle.config.assignments.flatMap(({ blobs = [] }) => blobs));
  return [
    ...ownBlobs(bundle),
    // Blobs of a package's images are collected like its files.
    ...closureFiles(bundle.config).map((blob) =>
      ofPackages.has(blob.digest) ? { ...blob, mediaType: FILE_BLOB } : blob,
    ),
  ];
};

const LAYERS: ReadonlySet<string> = new Set([LAYER_KUBERNETES, LAYER_HOST, FILE_BLOB]);

/** Small blobs that stay as long as the bundle is known, because audits need them. */
export const retainedBlobs = ({ blobs }: StoredBundle): readonly Digest[] =>
  blobs.flatMap(({ digest, mediaType }) => (LAYERS.has(mediaType) ? [] : [digest]));

export const readBundles = ({ db }: State): readonly StoredBundle[] => {
  const rows = db.prepare('SELECT digest, blobs FROM bundle ORDER BY digest').all();
  return (rows as { digest: Digest; blobs: string }[]).map(({ digest, blobs }) => ({
    digest,
    blobs: JSON.parse(blobs) as Descriptor[],
  }));
};

/** Digests of bundles that are complete in the store and can be the base of a delta. Sorted. */
export const heldBundles = async (state: State): Promise<readonly Digest[]> => {
  const present = new Set(await state.blobs.list());
  return readBundles(state)
    .filter(({ blobs }) => blobs.every(({ digest }) => present.has(digest)))
    .map(({ digest }) => digest)
    .toSorted(compareBytes);
};
