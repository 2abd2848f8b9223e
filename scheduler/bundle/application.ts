/** The files of an application for one deployment target: what its manifests path holds. */
export type Application = {
  /** Put before a path in messages. */
  readonly shown: string;
  /** Relative path to bytes, sorted bytewise. */
  readonly files: ReadonlyMap<string, Buffer>;
};
