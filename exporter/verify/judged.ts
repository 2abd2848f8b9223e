import type { Digest } from '#bundles/digest';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import type { Medium } from '#bundles/formats/medium/medium';

/** The input of a judgement: documents, manifests and configs of a medium, or of the evidence about it. */
export type Judged = {
  /** For messages. */
  readonly path: string;
  readonly medium: Medium;
  readonly blobs: BlobSource;
  /** True if an absent blob is on an absent part. */
  readonly elsewhere: (digest: Digest) => boolean;
  /** SHA-256 of the pinned root, if one was given. */
  readonly pinned: Digest | undefined;
  /** The time of the judgement. */
  readonly now: Date;
};
