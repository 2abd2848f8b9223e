export type WriteOptions = {
  /** undefined: as large as the file system takes. */
  readonly maxFileSize?: number;
  /** Read everything back from the device before saying that it is there. */
  readonly readBack: boolean;
  /** Bytes that are done, for a progress bar. */
  readonly onBytes: (bytes: number) => void;
  readonly signal?: AbortSignal;
};

export type Written = {
  /** Bytes that went to the medium; what was there already is not in it. */
  readonly written: number;
  /** Files of an earlier medium that were removed. */
  readonly removed: number;
};
