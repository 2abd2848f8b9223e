import type { Digest } from '#bundles/digest';
import type { Place } from '#bundles/errors';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import type { PinnedChart } from '../../load/charts/charts.ts';
import type { ContentLocks, LockedContent } from '../../model/content-locks.ts';

/** Bytes that travel as a blob of their own, where they can be read as often as needed. */
export type Content = {
  readonly digest: Digest;
  readonly size: number;
  readonly source: BlobSource;
  /** Who says what a release was made from names it; of what an application brings, its repository does. */
  readonly from?: { readonly url: string } | { readonly chart: PinnedChart };
};

/** An address that a package names. `sha256`: its author said what is there. */
export type WantedContent = {
  readonly url: string;
  readonly sha256: Digest | undefined;
  readonly at: Place;
};

/**
 * What an address is pinned to. @throws FleetError CONTENT_UNPINNED, SOURCE_UNREACHABLE, DIGEST_MISMATCH ... with the place
 * that names it
 */
export type Contents = (wanted: WantedContent, locks: ContentLocks, signal: AbortSignal) => Promise<Content>;

/** Brings what an address names into a store, and says what it was. `expected` is what it must be, if that is known. */
export type FetchContent = (
  url: string,
  expected: { readonly digest: Digest; readonly size?: number } | undefined,
  signal: AbortSignal,
) => Promise<LockedContent>;
