/** The old blob, or what is in it where it is a gzip file, at random access. */
export type OldContent = {
  readonly size: number;
  /** A promise only where that takes a while: a patch may have a million short runs. */
  readonly read: (offset: number, length: number) => Uint8Array | Promise<Uint8Array>;
};
