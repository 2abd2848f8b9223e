import type { Descriptor } from '#bundles/bundle/manifest';
import type { Digest } from '#bundles/digest';
import type { BlobSource } from '#bundles/layout/blobs';
import type { Buffers } from '#bundles/layout/read-span';
import type { Channel } from '#bundles/names';
import type { OfferedDocument } from './offer.ts';

/** Where releases are exported from: repositories with tags, as a registry has them and a layout imitates. */
export type Source = AsyncDisposable & {
  /** For messages: 'layout /srv/fleet', 'oci://registry.example/fleet'. */
  readonly name: string;
  /** Channels that have a release here, sorted. A source that cannot list throws USAGE. */
  readonly channels: () => Promise<readonly Channel[]>;
  /** All tags of a repository, in any order. */
  readonly tags: (repository: string) => Promise<readonly string[]>;
  /** What a tag names, or undefined. */
  readonly resolve: (repository: string, tag: string) => Promise<Descriptor | undefined>;
  /**
   * Of a source where each question takes a journey: makes them for documents that are about to be judged, which would ask
   * for one after the other. What is wrong with one is told by who judges it.
   * @throws FleetError where it would be worth trying again: REGISTRY_UNREACHABLE
   */
  readonly readAhead?: (documents: readonly OfferedDocument[], signal?: AbortSignal) => Promise<void>;
  /** Blobs live in a repository; a layout keeps all of them in one place. */
  readonly blobs: (repository: string) => BlobSource;
  /**
   * A blob for copying: not verified, and each chunk is valid only until the next is asked for.
   * @param buffers the reader's own, which what is read may lie in: such a chunk is valid as Buffers says, also when the blob is over
   * @throws FleetError MISSING_BLOB
   */
  readonly stream: (
    repository: string,
    digest: Digest,
    signal?: AbortSignal,
    buffers?: Buffers,
  ) => AsyncIterable<Uint8Array>;
};
