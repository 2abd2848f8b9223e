/** Encryption of a part while it is written to the medium. */
export type Seal = {
  /** Recipients, each once and sorted. */
  readonly recipients: readonly string[];
  /** Returns the sealed form of one whole part. */
  readonly seal: (content: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>;
  /** Sealed size for a plain size, in bytes. Monotonic. */
  readonly sealedSize: (plain: number) => number;
};
