import type { BundleKind } from '#bundles/names';
import type { Digest } from '#bundles/digest';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import type { Delta } from '#bundles/formats/medium/medium';

/** One bundle of a side, and where its blobs are as far as this side has them. */
export type SideBundle = {
  /** 'prod/kiosk' */
  readonly channel: string;
  readonly kind: BundleKind;
  readonly digest: Digest;
  readonly blobs: BlobSource;
};

/** A patch instead of a blob; `read` rejects as readPatch does. */
export type SidePatch = { readonly delta: Delta; readonly read: () => Promise<Buffer> };

/** What is compared: a medium, a source of releases, or what a site reported. */
export type Side = AsyncDisposable & {
  /** For people. */
  readonly name: string;
  /** Number of the release by channel; undefined where a medium does not say. */
  readonly releases: ReadonlyMap<string, number | undefined>;
  readonly bundles: readonly SideBundle[];
  /** Version of the site statement by site; undefined if this kind of side has no site statements. */
  readonly sites: ReadonlyMap<string, number | undefined> | undefined;
  /** Blobs that are known to be there beside those of the bundles. */
  readonly holds: ReadonlySet<Digest>;
  /** Of blobs that it has as patches. */
  readonly patches: ReadonlyMap<Digest, SidePatch>;
  readonly notes: readonly string[];
};
