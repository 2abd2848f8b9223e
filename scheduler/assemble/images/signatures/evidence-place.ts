import type { Digest } from '#bundles/digest';
import type { ImageSignature } from '#bundles/trust/images/read-signatures';

/** A source of image signatures. Its results are not verified. */
export type EvidencePlace = {
  /** Name for messages. */
  readonly name: string;
  /**
   * Returns signatures that claim to be for this manifest or index. Attachments that cannot be read as signatures by key are
   * skipped: every client with push access can add some.
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
   * @param noted index that the manifest was chosen from, by the lock file
   */
  readonly indexes: (
    manifest: Digest,
    names: readonly string[],
    noted: Digest | undefined,
    signal: AbortSignal,
  ) => Promise<readonly Buffer[]>;
};
