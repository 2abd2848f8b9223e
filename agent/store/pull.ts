import type { Digest } from '#bundles/digest';
import type { State } from './state.ts';

/**
 * Blobs of an offer that is being brought in and not yet accepted: what is here of them must outlive a cut connection, a
 * kill and the daemon's looks in between.
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

/** It was accepted: from now on packages pin what they need. */
export const forgetPull = ({ db }: State): void => {
  db.prepare('DELETE FROM pull').run();
};
