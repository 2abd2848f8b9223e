import type { Me } from '#bundles/transport/hub/client';

/** Begins the keys of what was typed and not sent. It is kept while this tab is open, for the person who typed it. */
const PREFIX = 'fleet-ferry-typed';

const BY = `${PREFIX} by`;

/** @param parts name the decision or the form, and its object */
export const typedKey = (parts: readonly (string | null)[]): string => `${PREFIX} ${JSON.stringify(parts)}`;

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
