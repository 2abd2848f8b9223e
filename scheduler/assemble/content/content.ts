import type { Digest } from '#bundles/digest';
import type { Place } from '#bundles/errors';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import type { PinnedChart } from '../../load/charts/charts.ts';
import type { ContentLocks, LockedContent } from '../../model/content-locks.ts';

/** Bytes of a blob of its own, readable any number of times. */
export type Content = {
  readonly digest: Digest;
  readonly size: number;
  readonly source: BlobSource;
  /** Address for the bundle statement; undefined for a file of an application, whose repository is recorded. */
  readonly from?: { readonly url: string } | { readonly chart: PinnedChart };
};

/** An address that a package names. `sha256`: the digest given by its author. */
export type WantedContent = {
  readonly url: string;
  readonly sha256: Digest | undefined;
  readonly at: Place;
};

/**
 * Returns the pinned content of an address. @throws FleetError CONTENT_UNPINNED, SOURCE_UNREACHABLE, DIGEST_MISMATCH ... with
 * the place that names it
 */
export type Contents = (wanted: WantedContent, locks: ContentLocks, signal: AbortSignal) => Promise<Content>;

/** Downloads an address into a store and returns its digest and size. `expected`: the required digest, if known. */
export type FetchContent = (
  url: string,
  expected: { readonly digest: Digest; readonly size?: number } | undefined,
  signal: AbortSignal,
) => Promise<LockedContent>;
