import { typedKey } from './typed.ts';

/** A decision and its object, such as the candidate: the next candidate needs its own reason. */
export type Decided = { readonly what: string; readonly object: string };

const keyOf = ({ what, object }: Decided): string => typedKey(['reason', what, object]);

/** The reason that was typed for a decision and not sent, kept while this tab is open: also when the session ends in between. */
export const readReason = (decided: Decided): string => sessionStorage.getItem(keyOf(decided)) ?? '';

export const keepReason = (decided: Decided, reason: string): void => {
  if (reason === '') sessionStorage.removeItem(keyOf(decided));
  else sessionStorage.setItem(keyOf(decided), reason);
};
