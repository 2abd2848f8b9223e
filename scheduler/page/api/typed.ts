import type { Me } from '#bundles/schemas/types/hub-decisions';

/** Begins the keys of what was typed and not sent. It is kept while this tab is open, for the person who typed it. */
const PREFIX = 'fleet-ferry-typed';

const BY = `${PREFIX} by`;

/** Names the decision or the form, and its object. */
type Place = readonly (string | null)[];

const keyOf = (place: Place): string => `${PREFIX} ${JSON.stringify(place)}`;

export const readTyped = (place: Place): string | null => sessionStorage.getItem(keyOf(place));

/**
 * Where the storage of the tab is full, the form goes on and its text is not kept.
 * @param text undefined: it was sent, or is discarded
 */
export const keepTyped = (place: Place, text: string | undefined): void => {
  const key = keyOf(place);
  if (text === undefined) return sessionStorage.removeItem(key);
  try {
    sessionStorage.setItem(key, text);
  } catch (error) {
    if (!(error instanceof DOMException && error.name === 'QuotaExceededError')) throw error;
    // An older text would come back as if it were this one.
    sessionStorage.removeItem(key);
  }
};

/** Identifies the owner of what was typed: a person, also with another session, or a token of a reader. */
export const typistOf = ({ person, id }: Pick<Me, 'person' | 'id'>): string =>
  person === null ? `token ${id}` : `person ${person}`;

/** Removes all that was typed in this tab. */
export const forgetTyped = (): void => {
  for (const key of Object.keys(sessionStorage).filter((one) => one.startsWith(PREFIX)))
    sessionStorage.removeItem(key);
};

/** Removes what somebody else typed in this tab. Its own text a person finds again after the session ended. */
export const keepTypedOf = (me: Pick<Me, 'person' | 'id'>): void => {
  const typist = typistOf(me);
  if (sessionStorage.getItem(BY) === typist) return;
  forgetTyped();
  sessionStorage.setItem(BY, typist);
};
