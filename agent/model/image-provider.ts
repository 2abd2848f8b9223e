import type { ClosureEntry } from '#bundles/formats/bundle/config';
import type { Digest } from '#bundles/digest';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import type { Examined } from './target.ts';

/** The signed documents of the bundles of an offer, for a provider that verifies images on its own. */
export type ImageEvidence = {
  /** Every root that the offer brings. */
  readonly roots: readonly Uint8Array[];
  /** Envelopes of the release that names the bundles. */
  readonly release: readonly Uint8Array[];
  readonly bundles: readonly { readonly digest: Digest; readonly envelopes: readonly Uint8Array[] }[];
  /** Has manifests and configurations of the bundles. */
  readonly blobs: BlobSource;
};

/** A store of images at the site: the node's containerd or the site's registry. Queries take many images at once. */
export type ImageProvider = {
  /** For messages: 'containerd /run/containerd/containerd.sock', 'registry edge:5000/images'. */
  readonly name: string;
  /** Returns which of these images it has complete, under every name, and marked as brought by this agent. */
  readonly keeps: (images: readonly ClosureEntry[], signal: AbortSignal) => Promise<ReadonlySet<Digest>>;
  /**
   * Returns which of these blobs it has where `images` can use them; a delta may leave those out.
   * @param images the images that the blobs belong to
   */
  readonly has: (
    blobs: readonly Digest[],
    images: readonly ClosureEntry[],
    signal: AbortSignal,
  ) => Promise<ReadonlySet<Digest>>;
  /** Reads a blob that `has` found, NOT verified, as the base of a patch. Absent or undefined if it cannot be read back. */
  readonly read?: (digest: Digest, signal: AbortSignal) => Promise<AsyncIterable<Uint8Array> | undefined>;
  /** Takes the documents that prove the images of the next `bring`. The offer was judged before. */
  readonly prove?: (evidence: ImageEvidence, signal: AbortSignal) => Promise<void>;
  /**
   * Imports an image under every name that manifests use. Copies only missing blobs and verifies each while copying.
   * Names are written last, so a kill leaves no partial image, and a repeated call completes it.
   * @throws FleetError IMAGE_REFUSED, CONTAINERD_UNREACHABLE, DISK_FULL, MISSING_BLOB, DIGEST_MISMATCH, REGISTRY_* ...
   */
  readonly bring: (
    image: ClosureEntry,
    blobs: BlobSource,
    signal: AbortSignal,
  ) => Promise<'there' | 'brought'>;
  /** Releases images that this agent brought and that no release needs any more. @returns their names, sorted */
  readonly letGo: (wanted: readonly ClosureEntry[], signal: AbortSignal) => Promise<readonly string[]>;
  /** The directory on this machine that it writes to, if known. */
  readonly directory: (signal: AbortSignal) => Promise<string | undefined>;
  /** For `doctor`: checks that it answers and has room. Changes nothing; findings are returned, not thrown. */
  readonly examine?: (signal: AbortSignal) => Promise<readonly Examined[]>;
};
