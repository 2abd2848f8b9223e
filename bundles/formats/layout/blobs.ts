import type { Digest } from '../../digest.ts';

/** Request for a small blob as a whole. */
export type WantedBlob = {
  /** Upper bound on the bytes that are read. */
  readonly maxBytes: number;
  /** Whether the referring document names it as a manifest: a registry serves those under another path. */
  readonly isManifest?: boolean;
  readonly signal?: AbortSignal | undefined;
};

/** A blob that the source has. The caller calls either `open` or `drop`, once. */
export type FoundBlob = {
  /** Size in bytes as the source reports it; undefined when it does not. */
  readonly size: number | undefined;
  /** As of BlobSource: NOT yet verified. */
  readonly open: () => Promise<AsyncIterable<Uint8Array>>;
  readonly drop: () => Promise<void>;
};

/** Reads blobs by digest from a directory, a tar or a registry. */
export type BlobSource = {
  /** For messages: 'medium /media/stick', 'registry host/prefix'. */
  readonly name: string;
  /** Size in bytes, undefined when the source does not have the blob. */
  readonly size: (digest: Digest) => Promise<number | undefined>;
  /**
   * Streams the bytes, NOT yet verified: the caller checks digest and size. Each chunk has its own memory and stays valid.
   * @throws FleetError MISSING_BLOB
   */
  readonly open: (digest: Digest, signal?: AbortSignal) => Promise<AsyncIterable<Uint8Array>>;
  /**
   * Size and bytes in one request, for sources with a round trip each; undefined when the source does not have the blob. A source that
   * wraps another must set `get` explicitly, to its own or to undefined: inheriting it would bypass the wrapper.
   */
  readonly get?: ((digest: Digest, wanted: WantedBlob) => Promise<FoundBlob | undefined>) | undefined;
  /**
   * As `open`, from an offset on, for sources behind a line that may break: an interrupted copy is kept and continued. A source that wraps
   * another must set it explicitly, like `get`.
   */
  readonly openFrom?: OpenFrom | undefined;
  /** The file that has the bytes, NOT yet verified, of a source whose files only this program writes: the kernel can copy it. */
  readonly path?: ((digest: Digest) => string) | undefined;
};

export type OpenFrom = (
  digest: Digest,
  from: number,
  signal?: AbortSignal,
) => Promise<AsyncIterable<Uint8Array>>;

/** A source that also stores blobs. */
export type BlobStore = BlobSource & {
  /** Verifies while writing; a mismatch never gets the final name. @throws FleetError DIGEST_MISMATCH, SIZE_MISMATCH, DISK_FULL */
  readonly write: (
    digest: Digest,
    size: number,
    content: AsyncIterable<Uint8Array> | Uint8Array,
    signal?: AbortSignal,
  ) => Promise<void>;
};
