import type { BundleKind } from '#bundles/names';
import type { Digest } from '#bundles/digest';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import type { Delta } from '#bundles/formats/medium/medium';

/** One bundle of a side and a reader of its available blobs. */
export type SideBundle = {
  /** 'prod/kiosk' */
  readonly channel: string;
  readonly kind: BundleKind;
  readonly digest: Digest;
  readonly blobs: BlobSource;
};

/** A patch in place of a blob. `read` rejects with the codes of readPatch. */
export type SidePatch = { readonly delta: Delta; readonly read: () => Promise<Buffer> };

/** One side of a comparison: a medium, a source of releases, or the reported state of a site. */
export type Side = AsyncDisposable & {
  /** Name for messages. */
  readonly name: string;
  /** Channel -> number of the release; undefined if a medium does not tell. */
  readonly releases: ReadonlyMap<string, number | undefined>;
  readonly bundles: readonly SideBundle[];
  /** Site -> version of the site statement; undefined if this kind of side has no site statements. */
  readonly sites: ReadonlyMap<string, number | undefined> | undefined;
  /** Known blobs other than blobs of the bundles. */
  readonly holds: ReadonlySet<Digest>;
  /** Patches by the digest of the blob that they make. */
  readonly patches: ReadonlyMap<Digest, SidePatch>;
  readonly notes: readonly string[];
};
