/** The server's own description of a failure (meta/v1 Status). */
export type Status = {
  readonly message?: string;
  readonly reason?: string;
  readonly details?: {
    readonly kind?: string;
    readonly name?: string;
    readonly causes?: readonly {
      readonly reason?: string;
      readonly message?: string;
      readonly field?: string;
    }[];
  };
};
