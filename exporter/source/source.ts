import type { Descriptor } from '#bundles/formats/layout/manifest';
import type { Digest } from '#bundles/digest';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import type { Channel } from '#bundles/names';
import type { OfferedDocument } from './offer.ts';

/** Source of an export: repositories with tags, of a registry or a layout. */
export type Source = AsyncDisposable & {
  /** For messages: 'layout /srv/fleet', 'oci://registry.example/fleet'. */
  readonly name: string;
  /** Channels that have a release here, sorted. A source that cannot list throws USAGE. */
  readonly channels: () => Promise<readonly Channel[]>;
  /** Sites that have a statement here, sorted. A registry cannot list them. */
  readonly sites?: () => readonly string[];
  /** Why a newer build of a channel is not released. Only the layout of the scheduler has this. */
  readonly unreleased?: (channel: Channel) => 'held' | 'awaiting' | undefined;
  /** All tags of a repository, in any order. */
  readonly tags: (repository: string) => Promise<readonly string[]>;
  /** Target of a tag, undefined when it does not exist. */
  readonly resolve: (repository: string, tag: string) => Promise<Descriptor | undefined>;
  /**
   * Prefetches documents concurrently, for a source with a round trip for each request: verification reads them one by one and
   * reports their errors.
   * @throws FleetError only retryable errors, such as REGISTRY_UNREACHABLE
   */
  readonly readAhead?: (documents: readonly OfferedDocument[], signal?: AbortSignal) => Promise<void>;
  /** Blobs live in a repository; a layout keeps all of them in one place. */
  readonly blobs: (repository: string) => BlobSource;
  /**
   * A blob for copying, not verified; chunks as of BlobSource.open.
   * @throws FleetError MISSING_BLOB
   */
  readonly stream: (repository: string, digest: Digest, signal?: AbortSignal) => AsyncIterable<Uint8Array>;
};
