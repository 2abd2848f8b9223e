import { keepTyped, readTyped } from './typed.ts';

/** A decision and its object, such as the candidate: the next candidate needs its own reason. */
export type Decided = { readonly what: string; readonly object: string };

const placeOf = ({ what, object }: Decided) => ['reason', what, object];

/** The reason that was typed for a decision and not sent, kept while this tab is open: also when the session ends in between. */
export const readReason = (decided: Decided): string => readTyped(placeOf(decided)) ?? '';

export const keepReason = (decided: Decided, reason: string): void =>
  keepTyped(placeOf(decided), reason === '' ? undefined : reason);
