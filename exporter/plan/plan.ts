import type { Descriptor } from '#bundles/formats/layout/manifest';
import type { Digest } from '#bundles/digest';
import type { BlobRef, Medium } from '#bundles/formats/medium/medium';
import type { Channel } from '#bundles/names';
import type { OfferedLease } from '../source/offer.ts';

/** A blob to write: its source and its position. */
export type PlannedBlob = BlobRef & {
  readonly repository: string;
  readonly rank: Rank;
  /** True for documents, manifests and bundle configs, which every part of a set has, so that each can be verified alone. */
  readonly shared: boolean;
};

/** Blobs in writing order: metadata first, manifests before the blobs that they name. */
export type Rank = 'document' | 'manifest' | 'config' | 'layer';

/** A small file with the content of a document. */
export type PlannedFile = BlobRef & { readonly path: string; readonly repository: string };

/** The size of one bundle on this medium, in bytes. Blobs shared by several bundles count in each. */
export type BundlePlan = {
  readonly channel: Channel;
  readonly version: number;
  readonly kind: string;
  readonly digest: Digest;
  readonly total: number;
  readonly carried: number;
  readonly assumed: number;
  /** Reasons: one for each base or request, or for their absence. */
  readonly why: readonly string[];
};

export type SitePlan = {
  readonly site: string;
  readonly version: number;
  readonly agents: readonly { readonly name: string; readonly channel: Channel; readonly carried: boolean }[];
  /** Size of its statement, values and receipts in bytes. */
  readonly bytes: number;
  /** Bytes on the medium that its agents read, each blob counted once, also if other sites read it. */
  readonly carried: number;
};

/** The complete content of a medium. The same inputs give the same plan. */
export type Plan = {
  /** fleet/medium.json without its chunks, which depend on the target. */
  readonly medium: Omit<Medium, 'chunks'>;
  /** Entries of index.json. */
  readonly index: readonly Descriptor[];
  /** Each once, in writing order. */
  readonly blobs: readonly PlannedBlob[];
  readonly files: readonly PlannedFile[];
  readonly bundles: readonly BundlePlan[];
  readonly leases: readonly OfferedLease[];
  readonly sites: readonly SitePlan[];
  /** Bytes on the medium and bytes left out, each blob once. */
  readonly carried: number;
  readonly assumed: number;
  /** Blobs that are written as patches: their number, the bytes of the patches and of the blobs, and the time in milliseconds. */
  readonly deltas?: {
    readonly count: number;
    readonly bytes: number;
    readonly whole: number;
    readonly seconds: number;
  };
};
