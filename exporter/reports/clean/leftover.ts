/** A file of ours that is of no more use, and why. */
export type Leftover = {
  /** The medium or folder that it lies on. */
  readonly root: string;
  /** From there. */
  readonly path: string;
  readonly bytes: number;
  readonly why: string;
};

export type Leftovers = {
  readonly files: readonly Leftover[];
  /** What stays although it might go, and why. */
  readonly notes: readonly string[];
};
