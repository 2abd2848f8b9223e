import type { Contact } from '../store/contact.ts';
import type { Status } from '../observe/read-status.ts';

/** A line for the registry and one for the hub, for people: since when, why, and when it is tried again. */
export const showContacts = ({ registry, hub, outbox }: Status): readonly string[] => {
  const waiting = outbox.events > 0 ? `, ${outbox.events} events waiting` : '';
  return [
    ...(registry ? [`Registry ${registry.address}: ${describe(registry, 'asked', '')}`] : []),
    ...(hub ? [`Hub      ${hub.address}: ${describe(hub, 'handed over', waiting)}`] : []),
  ];
};

const describe = ({ good, failing, next }: Contact, doing: string, more: string): string => {
  if (good === null && failing === null)
    return `not yet ${doing}${more}${next === null ? ' (is the service running?)' : ''}`;
  const last = good === null ? `never ${doing}` : `last ${doing} ${good}`;
  const trouble = failing ? `, failing since ${failing.since}: ${failing.code}: ${failing.message}` : '';
  return `${last}${more}${trouble}${next === null ? '' : `; next at ${next}`}`;
};
