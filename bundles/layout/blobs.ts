import type { Digest } from '../digest.ts';
import type { Buffers } from './read-span.ts';

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
