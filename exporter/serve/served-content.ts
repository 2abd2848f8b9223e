import type { Descriptor } from '#bundles/formats/layout/manifest';
import type { Digest } from '#bundles/digest';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import type { TrustRoot } from '#bundles/trust/root/root';

/** One repository as clients see it. */
export type ServedRepository = {
  readonly tags: Map<string, Digest>;
  readonly manifests: Map<Digest, Descriptor>;
  /** Sizes in bytes. */
  readonly blobs: Map<Digest, number>;
  readonly referrers: Map<Digest, Descriptor[]>;
};

/** Everything that is served: only content that the signed statements of a medium refer to. */
export type ServedContent = {
  readonly root: TrustRoot;
  readonly blobs: BlobSource;
  /** By the repository's name: 'prod/line', 'registry.example/team/app'. */
  readonly repositories: ReadonlyMap<string, ServedRepository>;
  /** Number of images, counted once for each name. */
  readonly images: number;
  /** Content of the medium that is not served, with the reason. */
  readonly notes: readonly string[];
};
