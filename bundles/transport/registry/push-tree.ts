import {
  childrenOf,
  type Descriptor,
  isManifestType,
  MAX_MANIFEST_BYTES,
  parseManifest,
} from '../../formats/layout/manifest.ts';
import { type Digest, shortDigest } from '../../digest.ts';
import { FleetError } from '../../errors.ts';
import { inParallel } from '../../in-parallel.ts';
import type { BlobSource } from '../../formats/layout/blobs.ts';
import { readBlob } from '../../formats/layout/verified.ts';
import type { Repository } from './registry.ts';

export type PushTreeOptions = {
  /** Tag of the root manifest; undefined: by its digest only. */
  readonly tag?: string | undefined;
  /** The path, below the registry's prefix, of a repository that may have the blobs already. */
  readonly mountFrom?: string | undefined;
  /** Concurrent blobs; default 4. */
  readonly concurrency?: number | undefined;
  /** Called for every blob and manifest once it is stored. */
  readonly onBlob?: ((blob: Descriptor, came: 'there' | 'mounted' | 'uploaded') => void) | undefined;
  readonly signal?: AbortSignal | undefined;
};

/** Deepest nesting of indexes. */
const MAX_DEPTH = 4;

/**
 * Pushes a manifest and everything it reaches: blobs first, then the manifests from the leaves to the root, so that every
 * reference resolves. Skips existing blobs, manifests and tags.
 * @throws FleetError MISSING_BLOB, DIGEST_MISMATCH, LAYOUT_INVALID ... for the source; the codes of Repository
 */
export const pushTree = async (
  target: Repository,
  source: BlobSource,
  root: Descriptor,
  { tag, mountFrom, concurrency = 4, onBlob, signal }: PushTreeOptions = {},
): Promise<void> => {
  const tree: Tree = { blobs: new Map(), manifests: new Map() };
  await collect(source, root, tree, 0, signal);
  const push = async (blob: Descriptor, stop: AbortSignal): Promise<void> => {
    const open = () => source.open(blob.digest, stop);
    const came = await target.pushBlob(blob, open, { mountFrom, signal: stop });
    onBlob?.(blob, came);
  };
  await inParallel(tree.blobs.values(), concurrency, push, signal);
  for (const { descriptor, bytes } of tree.manifests.values()) {
    const reference = descriptor.digest === root.digest ? (tag ?? root.digest) : descriptor.digest;
    const found = await target.resolve(reference, signal);
    const isPresent = found?.digest === descriptor.digest;
    if (!isPresent) await target.pushManifest(reference, { mediaType: descriptor.mediaType, bytes }, signal);
    onBlob?.(descriptor, isPresent ? 'there' : 'uploaded');
  }
};

type Tree = {
  readonly blobs: Map<Digest, Descriptor>;
  /** Children before the manifests that name them. */
  readonly manifests: Map<Digest, { readonly descriptor: Descriptor; readonly bytes: Buffer }>;
};

const collect = async (
  source: BlobSource,
  descriptor: Descriptor,
  tree: Tree,
  depth: number,
  signal: AbortSignal | undefined,
): Promise<void> => {
  if (tree.manifests.has(descriptor.digest)) return;
  if (depth > MAX_DEPTH)
    throw new FleetError(
      'TOO_DEEP',
      `index ${shortDigest(descriptor.digest)} nests deeper than ${MAX_DEPTH}`,
    );
  const bytes = await readBlob(source, descriptor.digest, MAX_MANIFEST_BYTES, signal);
  const manifest = parseManifest(bytes, `manifest ${shortDigest(descriptor.digest)}`);
  for (const child of childrenOf(manifest)) {
    if ('manifests' in manifest && isManifestType(child.mediaType))
      await collect(source, child, tree, depth + 1, signal);
    else tree.blobs.set(child.digest, child);
  }
  tree.manifests.set(descriptor.digest, { descriptor, bytes });
};
