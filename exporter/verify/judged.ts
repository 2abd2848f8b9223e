import type { Digest } from '#bundles/digest';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import type { Medium } from '#bundles/formats/medium/medium';

/** The input of a judgement: documents, manifests and configs of a medium, or of the evidence about it. */
export type Judged = {
  /** For messages. */
  readonly path: string;
  readonly medium: Medium;
  readonly blobs: BlobSource;
  /** Is a blob that is not here on a part that is not here? */
  readonly elsewhere: (digest: Digest) => boolean;
  /** The root given by hand. */
  readonly pinned: Digest | undefined;
  /** The time by which it is judged. */
  readonly now: Date;
};
