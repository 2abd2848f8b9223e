import type { Digest } from '#bundles/digest';
import type { ImageSignature } from '#bundles/trust/images/read-signatures';

/** Where signatures of images may be found. Nothing that comes out of it is verified. */
export type EvidencePlace = {
  /** For messages. */
  readonly name: string;
  /**
   * What says that it signs this manifest or index. What cannot be read as a signature by key is passed over: anybody who may
   * push to a repository can put something there.
   * @param names 'host/repository@sha256:...' of the image
   * @throws FleetError REGISTRY_*
   */
  readonly signatures: (
    about: Digest,
    names: readonly string[],
    signal: AbortSignal,
  ) => Promise<readonly ImageSignature[]>;
  /**
   * Indexes that may name this manifest, as bytes.
   * @param noted the index that the lock file says it was chosen from
   */
  readonly indexes: (
    manifest: Digest,
    names: readonly string[],
    noted: Digest | undefined,
    signal: AbortSignal,
  ) => Promise<readonly Buffer[]>;
};
