import type { Digest } from '../digest.ts';
import type { BlobSource } from '../layout/blobs.ts';
import { type Descriptor, isManifestType } from './manifest.ts';
import { type ManifestTree, readManifestTree } from './manifest-tree.ts';

type Named = Pick<Descriptor, 'digest' | 'size' | 'mediaType'>;

/**
 * These and all that manifests among them reach, each once, manifests before what they name: indexes in indexes,
 * attestations and what other tools hang in as well. A manifest that `source` lacks is listed without what it names.
 * @param what names a manifest in messages
 * @throws FleetError DIGEST_MISMATCH, SIZE_MISMATCH, LAYOUT_INVALID, TOO_LARGE
 */
export const reachedBlobs = async (
  source: BlobSource,
  from: readonly Named[],
  what: (digest: Digest) => string,
  signal?: AbortSignal,
): Promise<ReadonlyMap<Digest, Descriptor>> =>
  reachedIn(await readManifestTree(source, from, what, signal), from);

/** The same of manifests that were read. */
export const reachedIn = (tree: ManifestTree, from: readonly Named[]): ReadonlyMap<Digest, Descriptor> => {
  const seen = new Set<Digest>();
  const leavesFirst: Descriptor[] = [];
  // A list of what is still open, and no recursion: how deep indexes lie in indexes is not ours to say.
  const open: { readonly blob: Named; readonly left: Named[] }[] = [];
  const visit = ({ digest, size, mediaType }: Named): void => {
    if (seen.has(digest)) return;
    seen.add(digest);
    const children = isManifestType(mediaType) ? (tree.get(digest) ?? []) : [];
    open.push({ blob: { digest, size, mediaType }, left: [...children] });
  };
  for (const one of from.toReversed()) {
    visit(one);
    for (let top = open.at(-1); top; top = open.at(-1)) {
      const child = top.left.pop();
      if (child) visit(child);
      else {
        leavesFirst.push(top.blob);
        open.pop();
      }
    }
  }
  // The other way round nothing stands before any who names it, also where several do.
  return new Map(leavesFirst.toReversed().map((one) => [one.digest, one]));
};
