import type { FleetError } from '#bundles/errors';
import { formatTime, type Timestamp } from '#bundles/time';
import type { Log } from '../model/log.ts';

/** The state of the connection to a registry or hub, for `status`. Times are wall clock times, for people. */
export type Contact = {
  readonly good: Timestamp | null;
  readonly failing: {
    readonly since: Timestamp;
    readonly code: string;
    readonly message: string;
    readonly failures: number;
  } | null;
  /** Time of the next request. */
  readonly next: Timestamp | null;
};

export const NO_CONTACT: Contact = { good: null, failing: null, next: null };

export type ContactKeeper = {
  readonly now: () => Contact;
  readonly worked: () => void;
  /** Records a failure and returns the number of consecutive failures. */
  readonly failed: (error: FleetError) => number;
  readonly restsFor: (ms: number) => void;
};

/**
 * Keeps the state of one contact. Logs changes of the state, not every failed try.
 * @param name 'registry' or 'hub' @param save called with every change
 */
export const keepContact = (
  name: string,
  before: Contact,
  clock: () => Date,
  log: Log,
  save: (contact: Contact) => void,
): ContactKeeper => {
  // A restart keeps the start of an outage, and resets the retry pause and the record of logged errors.
  let contact: Contact = { ...before, failing: before.failing && { ...before.failing, failures: 0 } };
  let logged: string | undefined;
  const change = (next: Contact): void => {
    contact = next;
    save(next);
  };
  return {
    now: () => contact,
    worked: () => {
      if (contact.failing) log.info({ since: contact.failing.since }, `${name} answers again`);
      logged = undefined;
      change({ ...contact, good: formatTime(clock()), failing: null });
    },
    failed: (error) => {
      const { code, message, hint } = error;
      const known = contact.failing;
      const failures = (known?.failures ?? 0) + 1;
      if (logged !== code) log.warn({ code, reason: message, hint }, `${name} failed`);
      logged = code;
      change({
        ...contact,
        failing: { since: known?.since ?? formatTime(clock()), code, message, failures },
      });
      return failures;
    },
    restsFor: (ms) => change({ ...contact, next: formatTime(new Date(clock().getTime() + ms)) }),
  };
};
