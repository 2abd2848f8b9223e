import type { ClosureEntry } from '#bundles/formats/bundle/config';
import type { Descriptor } from '#bundles/formats/layout/manifest';
import type { BlobSource } from '#bundles/formats/layout/blobs';

/** An image by its name in the closure, with all its blobs, manifests before their children. */
export type ResolvedImage = {
  readonly entry: ClosureEntry;
  readonly blobs: readonly Descriptor[];
  /** Source of the blobs. */
  readonly source: BlobSource;
};
