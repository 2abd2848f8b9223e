/** Encryption of a part while it is written to the medium. */
export type Seal = {
  /** Whom it is for, each once and sorted. */
  readonly recipients: readonly string[];
  /** The sealed form of one whole part. */
  readonly seal: (content: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>;
  /** Bytes that so many become; never falls. */
  readonly sealedSize: (plain: number) => number;
};
