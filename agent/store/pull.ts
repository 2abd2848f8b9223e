import type { Digest } from '#bundles/digest';
import type { State } from './state.ts';

/**
 * Pins the blobs of an offer that is not accepted yet, so that those already stored survive a lost connection, a kill and
 * garbage collection. Of an offer that is pinned already, the pins of its images stay.
 */
export const savePull = (state: State, digests: readonly Digest[]): void => {
  const save = state.db.transaction(() => {
    const before = new Set(readPull(state));
    if (digests.every((digest) => before.has(digest))) return;
    state.db.prepare('DELETE FROM pull').run();
    insert(state, digests);
  });
  save.immediate();
};

/** Pins further blobs of the offer: those of an image that waits in the store. */
export const pinForPull = (state: State, digests: readonly Digest[]): void => {
  state.db.transaction(insert).immediate(state, digests);
};

const insert = ({ db }: State, digests: readonly Digest[]): void => {
  const pin = db.prepare('INSERT OR IGNORE INTO pull VALUES (?)');
  for (const digest of digests) pin.run(digest);
};

export const readPull = ({ db }: State): readonly Digest[] =>
  (db.prepare('SELECT digest FROM pull ORDER BY digest').all() as { readonly digest: Digest }[]).map(
    ({ digest }) => digest,
  );

/** Clears the pins after acceptance; from then on packages pin what they need. */
export const forgetPull = ({ db }: State): void => {
  db.prepare('DELETE FROM pull').run();
};
