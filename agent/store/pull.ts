import type { Digest } from '#bundles/digest';
import type { State } from './state.ts';

/**
 * Pins the blobs of an offer that is not accepted yet, so that those already stored survive a lost connection, a kill and
 * garbage collection.
 */
export const savePull = ({ db }: State, digests: readonly Digest[]): void => {
  const insert = db.prepare('INSERT OR IGNORE INTO pull VALUES (?)');
  const save = db.transaction(() => {
    db.prepare('DELETE FROM pull').run();
    for (const digest of digests) insert.run(digest);
  });
  save.immediate();
};

export const readPull = ({ db }: State): readonly Digest[] =>
  (db.prepare('SELECT digest FROM pull ORDER BY digest').all() as { readonly digest: Digest }[]).map(
    ({ digest }) => digest,
  );

/** Clears the pins after acceptance; from then on packages pin what they need. */
export const forgetPull = ({ db }: State): void => {
  db.prepare('DELETE FROM pull').run();
};
