import type { BundleConfig } from '#bundles/formats/bundle/config';
import type { BundleKind, Channel } from '#bundles/names';
import type { Digest } from '#bundles/digest';
import type { Document } from '#bundles/formats/layout/document';
import type { ReleasePredicate, SiteAgent, SiteValues } from '#bundles/formats/statements/predicates';
import type { TrustRoot } from '#bundles/trust/root/root';
import type { ClosureBlob } from '#bundles/formats/bundle/read-closure';

/** One bundle of a channel's release, its statement verified. */
export type OfferedBundle = {
  readonly channel: Channel;
  readonly kind: BundleKind;
  readonly digest: Digest;
  readonly size: number;
  readonly closure: readonly ClosureBlob[];
  /** Manifest, config and layers of the bundle itself, without its images. */
  readonly own: readonly Digest[];
  /** Images of the closure by their manifest. */
  readonly images: readonly Digest[];
  /** The schema of the site values that it needs. */
  readonly siteInputs: BundleConfig['siteInputs'];
  /** Repository that has its blobs. */
  readonly repository: string;
};

export type OfferedChannel = {
  readonly channel: Channel;
  readonly version: number;
  readonly expires: string;
  readonly rollout: ReleasePredicate['rollout'];
  readonly bundles: readonly OfferedBundle[];
};

/** A live lease of an offered release. */
export type OfferedLease = {
  readonly channel: Channel;
  readonly version: number;
  /** Digest of its release. */
  readonly release: number;
  readonly expires: string;
  /** Digests of its signature files. */
  readonly digests: readonly Digest[];
};

export type OfferedSite = {
  readonly site: string;
  readonly version: number;
  readonly agents: readonly SiteAgent[];
  readonly values: SiteValues;
};

export type OfferedDocument = { readonly document: Document; readonly repository: string };

/** A receipt whose signature was verified: `agent` has handed over its events up to `to`. */
export type OfferedReceipt = { readonly agent: string; readonly digest: Digest; readonly to: number };

/** The requested content that the source has. All signatures are verified as by an agent. */
export type Offer = {
  readonly root: TrustRoot;
  readonly documents: readonly OfferedDocument[];
  readonly channels: readonly OfferedChannel[];
  readonly leases: readonly OfferedLease[];
  readonly sites: readonly OfferedSite[];
  readonly receipts: readonly OfferedReceipt[];
  /** Skipped documents, with the reason. */
  readonly notes: readonly string[];
};
