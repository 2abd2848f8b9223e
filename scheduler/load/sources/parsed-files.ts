/**
 * Parsed contents of files, for later reads of the same bytes in this run or the next. A content that is found equals the one that was
 * kept, in objects of its own.
 */
export type ParsedFiles = {
  /** @param name of the file and of the way in which it was parsed */
  readonly find: (name: string, bytes: Buffer) => unknown;
  /** Keeps plain data; anything else is parsed again. */
  readonly keep: (name: string, bytes: Buffer, parsed: unknown) => void;
};
