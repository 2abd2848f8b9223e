import type { Allowance } from '../sites/tokens/allowance.ts';

/** An authenticated caller of the API: the holder of a token, or a person with a session. */
export type Principal = {
  readonly kind: 'token' | 'oidc' | 'break-glass';
  /** Public name of the token or session, for logs and for idempotency keys. */
  readonly id: string;
  /** Name of the person in statements, with the kind of sign-in; undefined: a caller without decisions. */
  readonly person: string | undefined;
  readonly allowances: readonly Allowance[];
  /** May see and end the sessions of others. */
  readonly isAdmin: boolean;
};
