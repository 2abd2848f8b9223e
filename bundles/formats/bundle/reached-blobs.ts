import type { Digest } from '../../digest.ts';
import type { BlobSource } from '../layout/blobs.ts';
import { type Descriptor, isManifestType } from '../layout/manifest.ts';
import { type ManifestTree, readManifestTree } from './manifest-tree.ts';

type Named = Pick<Descriptor, 'digest' | 'size' | 'mediaType'>;

/**
 * Returns the blobs of `from` and all that manifests among them reach, each once, manifests before their children: also nested
 * indexes, attestations and entries of other tools. A manifest that `source` lacks is listed without its children.
 * @param what name of a manifest for messages
 * @throws FleetError DIGEST_MISMATCH, SIZE_MISMATCH, LAYOUT_INVALID, TOO_LARGE
 */
export const reachedBlobs = async (
  source: BlobSource,
  from: readonly Named[],
  what: (digest: Digest) => string,
  signal?: AbortSignal,
): Promise<ReadonlyMap<Digest, Descriptor>> =>
  reachedIn(await readManifestTree(source, from, what, signal), from);

/** As reachedBlobs, from manifests that are already read. */
export const reachedIn = (tree: ManifestTree, from: readonly Named[]): ReadonlyMap<Digest, Descriptor> => {
  const seen = new Set<Digest>();
  const leavesFirst: Descriptor[] = [];
  // A stack instead of recursion: the nesting of indexes is not limited.
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
  // Reversed, every blob comes after all manifests that name it.
  return new Map(leavesFirst.toReversed().map((one) => [one.digest, one]));
};
