import type { FleetError } from '#bundles/errors';
import { formatTime, type Timestamp } from '#bundles/time';
import type { Log } from './log.ts';

/** How it stands with a registry or hub, for `status`. Times are the wall clock's, for people. */
export type Contact = {
  readonly good: Timestamp | null;
  readonly failing: {
    readonly since: Timestamp;
    readonly code: string;
    readonly message: string;
    readonly failures: number;
  } | null;
  /** When it is asked again. */
  readonly next: Timestamp | null;
};

export const NO_CONTACT: Contact = { good: null, failing: null, next: null };

export type ContactKeeper = {
  readonly now: () => Contact;
  readonly worked: () => void;
  /** Says how often in a row it has failed. */
  readonly failed: (error: FleetError) => number;
  readonly restsFor: (ms: number) => void;
};

/**
 * Keeps one contact, and tells the log when it changes: not at every try, however long it lasts.
 * @param name 'registry' or 'hub' @param save called with every change
 */
export const keepContact = (
  name: string,
  before: Contact,
  clock: () => Date,
  log: Log,
  save: (contact: Contact) => void,
): ContactKeeper => {
  // A restart keeps since when, and begins anew with its patience and its log.
  let contact: Contact = { ...before, failing: before.failing && { ...before.failing, failures: 0 } };
  let told: string | undefined;
  const change = (next: Contact): void => {
    contact = next;
    save(next);
  };
  return {
    now: () => contact,
    worked: () => {
      if (contact.failing) log.info({ since: contact.failing.since }, `${name} answers again`);
      told = undefined;
      change({ ...contact, good: formatTime(clock()), failing: null });
    },
    failed: (error) => {
      const { code, message, hint } = error;
      const known = contact.failing;
      const failures = (known?.failures ?? 0) + 1;
      if (told !== code) log.warn({ code, reason: message, hint }, `${name} failed`);
      told = code;
      change({
        ...contact,
        failing: { since: known?.since ?? formatTime(clock()), code, message, failures },
      });
      return failures;
    },
    restsFor: (ms) => change({ ...contact, next: formatTime(new Date(clock().getTime() + ms)) }),
  };
};
