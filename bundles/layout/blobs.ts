import type { Digest } from '../digest.ts';
import type { Buffers } from './read-span.ts';

/** A small blob that somebody wants as a whole. */
export type WantedBlob = {
  /** Nobody reads more of it. */
  readonly maxBytes: number;
  /** Whoever named it said so; a registry keeps those apart. */
  readonly isManifest?: boolean;
  readonly signal?: AbortSignal | undefined;
};

/** A blob that was asked for and is there. Either `open` or `drop` is called, once. */
export type FoundBlob = {
  /** Bytes it is said to have; undefined where that was not said. */
  readonly size: number | undefined;
  /** As of BlobSource: NOT yet verified. */
  readonly open: () => Promise<AsyncIterable<Uint8Array>>;
  readonly drop: () => Promise<void>;
};

/** Bytes by digest, wherever they lie: a directory, a tar, a registry. */
export type BlobSource = {
  /** For messages: 'medium /media/stick', 'registry host/prefix'. */
  readonly name: string;
  /** Size in bytes, or undefined where it is not. */
  readonly size: (digest: Digest) => Promise<number | undefined>;
  /**
   * The bytes as they come, NOT yet verified: whoever keeps them checks digest and size. @param buffers what a source that
   * reads a disk may read into @throws FleetError MISSING_BLOB
   */
  readonly open: (
    digest: Digest,
    signal?: AbortSignal,
    buffers?: Buffers,
  ) => Promise<AsyncIterable<Uint8Array>>;
  /**
   * Size and bytes by one question, where each takes a journey; undefined: it is not there. Whoever makes a source of another
   * says what this is, or that there is none: it must not pass by what the new source does differently.
   */
  readonly get?: ((digest: Digest, wanted: WantedBlob) => Promise<FoundBlob | undefined>) | undefined;
};

/** A source that can also keep. */
export type BlobStore = BlobSource & {
  /** Verifies while writing; what does not match never gets its name. @throws FleetError DIGEST_MISMATCH, SIZE_MISMATCH, DISK_FULL */
  readonly write: (
    digest: Digest,
    size: number,
    content: AsyncIterable<Uint8Array> | Uint8Array,
    signal?: AbortSignal,
  ) => Promise<void>;
};
