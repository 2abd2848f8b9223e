import type { Dispatcher } from 'undici';
import type { Notice } from './notice.ts';

/**
 * Result of sending a message. `refused`: the receiver will never accept it. `unreachable`: the receiver accepts none at
 * present.
 */
export type Outcome =
  | { readonly kind: 'taken' }
  | { readonly kind: 'refused' | 'unreachable'; readonly message: string };

export type DeliverOptions = {
  readonly fleet: string;
  readonly now: Date;
  readonly signal: AbortSignal;
};

/** The answer of a receiver that was tried and got no notice. `refused`: it answers, and would not take notices. */
export type Tried = { readonly kind: 'answers' | 'refused' | 'unreachable'; readonly message: string };

export type TryOptions = {
  readonly fleet: string;
  readonly now: Date;
  readonly signal: AbortSignal;
  /** Address that a mail server is given a test message for; undefined: it is given none. */
  readonly sendTo?: string | undefined;
};

/** One way to deliver notices. */
export type Carrier = {
  /** Notice in one message at most. */
  readonly batch: number;
  /** Instead of the configured interval: the receiver forgets alarms that are not said again. */
  readonly repeatMs?: number;
  /** `own`: the receiver has silences of its own, and would take an alarm that is withheld for resolved. */
  readonly silences?: 'own';
  /** Does not throw, except FleetError CONFIG_INVALID for its secret, and when the signal aborts. */
  readonly deliver: (notices: readonly Notice[], options: DeliverOptions) => Promise<Outcome>;
  /** Tries the receiver with its secret, without a notice. Throws as `deliver`. */
  readonly examine: (options: TryOptions) => Promise<Tried>;
};

/** How receivers are reached. */
export type Access = {
  readonly connections: () => Dispatcher;
  /** Hosts, host[:port], that may be spoken to without TLS. */
  readonly plainHttp: readonly string[];
  /** PEM certificates beside the system's. */
  readonly ca: string | undefined;
};

/** Time for one message. Others of the same receiver wait for it, other receivers do not. */
export const REQUEST_MS = 30_000;
