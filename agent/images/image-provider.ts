import type { ClosureEntry } from '#bundles/bundle/config';
import type { Digest } from '#bundles/digest';
import type { BlobSource } from '#bundles/layout/blobs';

/** What keeps images at the site: the node's containerd, the site's registry. */
export type ImageProvider = {
  /** For messages: 'containerd /run/containerd/containerd.sock', 'registry edge:5000/images'. */
  readonly name: string;
  /** Has it this blob? A delta may count on what a provider keeps. */
  readonly has: (digest: Digest, signal: AbortSignal) => Promise<boolean>;
  /**
   * Brings an image in by every name that manifests use, each blob verified on its way; does nothing when it is there
   * already. Killed anywhere, doing it again mends it. @throws FleetError IMAGE_REFUSED, DISK_FULL, DIGEST_MISMATCH ...
   */
  readonly bring: (
    image: ClosureEntry,
    blobs: BlobSource,
    signal: AbortSignal,
  ) => Promise<'there' | 'brought'>;
};
