/** The daemon's log: one line per call, with structured fields beside the message. */
export type Log = {
  readonly info: (fields: object, message: string) => void;
  readonly warn: (fields: object, message: string) => void;
  readonly error: (fields: object, message: string) => void;
};
