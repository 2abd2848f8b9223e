import type { Descriptor } from '#bundles/formats/layout/manifest';
import type { Digest } from '#bundles/digest';
import type { BlobRef, Medium } from '#bundles/formats/medium/medium';
import type { Channel } from '#bundles/names';
import type { OfferedLease } from '../source/offer.ts';

/** A blob to write: where it is, and when its turn comes. */
export type PlannedBlob = BlobRef & {
  readonly repository: string;
  readonly rank: Rank;
  /** Every part of a set has it, so that each can be judged alone: documents, manifests, the bundles' configs. */
  readonly shared: boolean;
};

/** Metadata first, and every manifest before what it names. */
export type Rank = 'document' | 'manifest' | 'config' | 'layer';

/** A small file beside the blobs, with the content of one of the documents. */
export type PlannedFile = BlobRef & { readonly path: string; readonly repository: string };

/** What one bundle costs on this medium. Bytes; blobs that several bundles share count in each. */
export type BundlePlan = {
  readonly channel: Channel;
  readonly version: number;
  readonly kind: string;
  readonly digest: Digest;
  readonly total: number;
  readonly carried: number;
  readonly assumed: number;
  /** Why: one short reason for each base, request or their absence. */
  readonly why: readonly string[];
};

export type SitePlan = {
  readonly site: string;
  readonly version: number;
  readonly agents: readonly { readonly name: string; readonly channel: Channel; readonly carried: boolean }[];
  /** Bytes of its statement, values and receipts. */
  readonly bytes: number;
  /** Bytes on the medium that its agents read, each blob once; other sites may read them, too. */
  readonly carried: number;
};

/** Everything a medium will hold, before a byte is written: the same inputs give the same plan. */
export type Plan = {
  /** fleet/medium.json, its chunks still to come: they depend on where it is written. */
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
  /** Blobs that travel as patches: how many, the bytes of the patches, those of the blobs, and how long it took. */
  readonly deltas?: {
    readonly count: number;
    readonly bytes: number;
    readonly whole: number;
    readonly seconds: number;
  };
};
