import type { Digest } from '#bundles/digest';
import type { Leaving, OwnedObject } from '../../model/target.ts';
import type { State } from '../state.ts';

type Row = { readonly key: string; readonly assignment: string; readonly state: string };

const fromRow = ({ key, state }: Row): OwnedObject => ({
  key,
  state: JSON.parse(state) as OwnedObject['state'],
});

/** Objects that a package owns, including write-ahead entries. Sorted by key. */
export const readOwned = ({ db }: State, assignment: string): readonly OwnedObject[] =>
  (db.prepare('SELECT * FROM owned WHERE assignment = ? ORDER BY key').all(assignment) as Row[]).map(fromRow);

/** Keys owned by all other packages -> their assignment. */
export const readKeysOfOthers = ({ db }: State, assignment: string): ReadonlyMap<string, string> => {
  const rows = db.prepare('SELECT key, assignment FROM owned WHERE assignment <> ?').raw().all(assignment);
  return new Map(rows as [string, string][]);
};

/** Keys of objects that another package is to take over. */
export const readHandedOver = ({ db }: State): ReadonlySet<string> =>
  new Set(
    db
      .prepare(`SELECT key FROM owned WHERE json_extract(state, '$.given') IS NOT NULL`)
      .pluck()
      .all() as string[],
  );

/** Digests of the copies of files and objects that packages restore on removal. */
export const readReplaced = ({ db }: State): ReadonlySet<Digest> =>
  new Set(
    db
      .prepare(
        `SELECT json_extract(state, '$.replaced.digest') FROM owned
         WHERE json_extract(state, '$.replaced.digest') IS NOT NULL`,
      )
      .pluck()
      .all() as Digest[],
  );

/** Adds new keys to the old ones before the first write, so that a crash leaves no file without an owner. */
export const addOwned = ({ db }: State, assignment: string, objects: readonly OwnedObject[]): void => {
  const insert = db.prepare('INSERT OR REPLACE INTO owned VALUES (?, ?, ?)');
  for (const { key, state } of objects) insert.run(key, assignment, JSON.stringify(state));
};

/** Deletes rows whose objects are recorded by another key now. */
export const dropOwned = (
  { db }: State,
  rows: readonly { readonly key: string; readonly assignment: string }[],
): void => {
  const remove = db.prepare('DELETE FROM owned WHERE key = ? AND assignment = ?');
  for (const { key, assignment } of rows) remove.run(key, assignment);
};

/** Merges state that a step returned into objects of a package. Objects of other packages are not changed. */
export const noteOwned = (
  { db }: State,
  assignment: string,
  found: readonly { readonly key: string; readonly state?: OwnedObject['state'] }[],
): void => {
  const select = db.prepare('SELECT * FROM owned WHERE key = ? AND assignment = ?');
  const update = db.prepare('UPDATE owned SET state = ? WHERE key = ? AND assignment = ?');
  for (const { key, state } of found) {
    const row = state && (select.get(key, assignment) as Row | undefined);
    if (row) update.run(JSON.stringify({ ...fromRow(row).state, ...state }), key, assignment);
  }
};

/**
 * Reduces the inventory after the last step to `keys` and to objects that are still being deleted. Drops the `provisional`
 * part of each state, which held only while the operation could be rolled back.
 */
export const keepOwned = ({ db }: State, assignment: string, keys: ReadonlySet<string>): void => {
  const remove = db.prepare('DELETE FROM owned WHERE key = ? AND assignment = ?');
  const owned = db
    .prepare(`SELECT key FROM owned WHERE assignment = ? AND json_extract(state, '$.leaving') IS NULL`)
    .all(assignment) as Row[];
  for (const { key } of owned) if (!keys.has(key)) remove.run(key, assignment);
  db.prepare(
    `UPDATE owned SET state = json_remove(state, '$.provisional')
     WHERE assignment = ? AND json_extract(state, '$.provisional') IS NOT NULL`,
  ).run(assignment);
};

export const ownsAnything = ({ db }: State, assignment: string): boolean =>
  db.prepare('SELECT 1 FROM owned WHERE assignment = ? LIMIT 1').get(assignment) !== undefined;

/** Objects whose deletion the last operation began and did not see finished. Sorted by key. */
export const readLeaving = ({ db }: State, assignment: string): readonly Leaving[] =>
  (
    db
      .prepare(
        `SELECT json_extract(state, '$.leaving') FROM owned
         WHERE assignment = ? AND json_extract(state, '$.leaving') IS NOT NULL ORDER BY key`,
      )
      .pluck()
      .all(assignment) as string[]
  ).map((text) => JSON.parse(text) as Leaving);

/** Clears the `leaving` state; a new operation determines again what is still being deleted. */
export const forgetLeaving = ({ db }: State, assignment: string): void => {
  db.prepare(
    `UPDATE owned SET state = json_remove(state, '$.leaving')
     WHERE assignment = ? AND json_extract(state, '$.leaving') IS NOT NULL`,
  ).run(assignment);
};
