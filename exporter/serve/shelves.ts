import type { Descriptor } from '#bundles/formats/layout/manifest';
import type { Digest } from '#bundles/digest';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import type { TrustRoot } from '#bundles/trust/root/root';

/** One repository as clients see it. */
export type Shelf = {
  readonly tags: Map<string, Digest>;
  readonly manifests: Map<Digest, Descriptor>;
  /** Sizes. */
  readonly blobs: Map<Digest, number>;
  readonly referrers: Map<Digest, Descriptor[]>;
};

/** All that is served, by name: what the signed statements of a medium lead to, and nothing else. */
export type Shelves = {
  readonly root: TrustRoot;
  readonly blobs: BlobSource;
  /** By the repository's name: 'prod/line', 'registry.example/team/app'. */
  readonly repositories: ReadonlyMap<string, Shelf>;
  /** Of images, each at each of its names. */
  readonly images: number;
  /** What is on the medium and not served, and why. */
  readonly notes: readonly string[];
};
