const keyOf = (what: string): string => `fleet-ferry-reason ${what}`;

/** The reason that was typed for a decision and not sent, kept while this tab is open: also when the session ends in between. */
export const readReason = (what: string): string => sessionStorage.getItem(keyOf(what)) ?? '';

export const keepReason = (what: string, reason: string): void => {
  if (reason === '') sessionStorage.removeItem(keyOf(what));
  else sessionStorage.setItem(keyOf(what), reason);
};
