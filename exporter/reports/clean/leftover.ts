/** A useless file of ours, with the reason. */
export type Leftover = {
  /** The medium or folder of the file. */
  readonly root: string;
  /** Path relative to it. */
  readonly path: string;
  readonly bytes: number;
  readonly why: string;
};

export type Leftovers = {
  readonly files: readonly Leftover[];
  /** Files that are kept, with the reasons. */
  readonly notes: readonly string[];
};
