import type { ClosureEntry } from '#bundles/bundle/config';
import type { Digest } from '#bundles/digest';
import type { BlobSource } from '#bundles/layout/blobs';
import type { Examined } from '../apply/target.ts';

/** What keeps images at the site: the node's containerd, the site's registry. Questions are asked for many at once. */
export type ImageProvider = {
  /** For messages: 'containerd /run/containerd/containerd.sock', 'registry edge:5000/images'. */
  readonly name: string;
  /** Which of these images it keeps whole, by every name, because we brought them. */
  readonly keeps: (images: readonly ClosureEntry[], signal: AbortSignal) => Promise<ReadonlySet<Digest>>;
  /**
   * Which of these blobs it has where `images` can use them: a delta may count on those.
   * @param images whose parts the blobs are
   */
  readonly has: (
    blobs: readonly Digest[],
    images: readonly ClosureEntry[],
    signal: AbortSignal,
  ) => Promise<ReadonlySet<Digest>>;
  /** A blob that `has` found, NOT verified: a patch may be for it. Absent, or undefined, where none can be read back. */
  readonly read?: (digest: Digest, signal: AbortSignal) => Promise<AsyncIterable<Uint8Array> | undefined>;
  /**
   * Brings an image in by every name that manifests use, each blob verified on its way, only those that are not there.
   * The names come last: killed anywhere, there is no half image, and doing it again mends it.
   * @throws FleetError IMAGE_REFUSED, CONTAINERD_UNREACHABLE, DISK_FULL, MISSING_BLOB, DIGEST_MISMATCH, REGISTRY_* ...
   */
  readonly bring: (
    image: ClosureEntry,
    blobs: BlobSource,
    signal: AbortSignal,
  ) => Promise<'there' | 'brought'>;
  /** Lets go of what we brought and no release wants any more. @returns the names, sorted */
  readonly letGo: (wanted: readonly ClosureEntry[], signal: AbortSignal) => Promise<readonly string[]>;
  /** Where on this machine it writes, if that is to be known. */
  readonly directory: (signal: AbortSignal) => Promise<string | undefined>;
  /** For `doctor`: does it answer, has it room? Changes nothing, never throws for what it finds. */
  readonly examine?: (signal: AbortSignal) => Promise<readonly Examined[]>;
};
