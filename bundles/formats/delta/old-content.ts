/** Random access to the old blob, or to its content when it is a gzip file. */
export type OldContent = {
  readonly size: number;
  /** Returns a promise only when it has to read: a patch may have a million short runs. */
  readonly read: (offset: number, length: number) => Uint8Array | Promise<Uint8Array>;
};
