import type { Descriptor } from '../../formats/layout/manifest.ts';
import type { Digest } from '../../digest.ts';

/** The pointer tags that publishing moves (docs/bundle-format.md section 13). */
export type PointerTag = 'log' | 'release' | 'lease' | 'site' | 'receipts';

/** A pointer of the layout, with its target in the registry. */
export type Pointer = {
  /** 'prod/line', 'sites/plant-7', 'audit' */
  readonly repository: string;
  readonly tag: PointerTag;
  /** The artifact that the tag names. */
  readonly artifact: Descriptor;
};

/** A manifest under its immutable tag, and the blobs that must be there before it. */
export type ManifestUpload = {
  readonly tag: string;
  readonly descriptor: Descriptor;
  readonly bytes: Buffer;
  readonly blobs: readonly Descriptor[];
  /** Digest of the subject whose referrer this manifest is. */
  readonly subject?: Digest;
};

/** An upload batch: a pointer and the manifests that it needs, in stages. A stage depends only on earlier stages. */
export type UploadBatch = Pointer & {
  /** Never decreases: the number of the release, lease or site statement, the hub's time of the receipts, the length of the log. */
  readonly version: PointerVersion;
  /** Of an audit log: digests of its lines, one of which must be the head of the log that it replaces. */
  readonly lines?: ReadonlySet<Digest>;
  /** Of a release of a layout: the digest of the one with a lower number on which it follows (releaseAt). */
  readonly releaseAt?: (number: number) => Promise<Digest | undefined>;
  readonly stages: readonly (readonly ManifestUpload[])[];
  /** Tags that move with the pointer, just before it. */
  readonly companions: readonly {
    readonly tag: string;
    readonly descriptor: Descriptor;
    readonly bytes: Buffer;
  }[];
};

/** Version of a pointer's target. */
export type PointerVersion = {
  readonly number: number;
  /** 'release 8', 'the receipts of 2026-11-21T08:00:00Z' */
  readonly name: string;
  /** Digest of the signed payload, or the head of a log; undefined where one number may have several contents (receipts). */
  readonly identity: Digest | undefined;
  /** When it was signed. */
  readonly at: Date;
  /** Of a release: the digest of the one before. */
  readonly previous?: Digest | null;
};
