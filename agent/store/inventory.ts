import type { OwnedObject } from '../apply/target.ts';
import type { State } from './state.ts';

type Row = { readonly key: string; readonly assignment: string; readonly state: string };

const fromRow = ({ key, state }: Row): OwnedObject => ({
  key,
  state: JSON.parse(state) as OwnedObject['state'],
});

/** What a package owns now, what is being written for it included. Sorted by key. */
export const readOwned = ({ db }: State, assignment: string): readonly OwnedObject[] =>
  (db.prepare('SELECT * FROM owned WHERE assignment = ? ORDER BY key').all(assignment) as Row[]).map(fromRow);

/** Keys of all other packages -> their assignment. */
export const readTaken = ({ db }: State, assignment: string): ReadonlyMap<string, string> => {
  const rows = db.prepare('SELECT key, assignment FROM owned WHERE assignment <> ?').all(assignment);
  return new Map((rows as Row[]).map((row) => [row.key, row.assignment]));
};

/** Before the first write: the new keys join the old ones, so that no crash leaves a file that nobody owns. */
export const addOwned = ({ db }: State, assignment: string, objects: readonly OwnedObject[]): void => {
  const insert = db.prepare('INSERT OR REPLACE INTO owned VALUES (?, ?, ?)');
  for (const { key, state } of objects) insert.run(key, assignment, JSON.stringify(state));
};

/** After the last step: exactly these; what was deleted is let go only now. */
export const replaceOwned = (state: State, assignment: string, objects: readonly OwnedObject[]): void => {
  state.db.prepare('DELETE FROM owned WHERE assignment = ?').run(assignment);
  addOwned(state, assignment, objects);
};

export const ownsAnything = ({ db }: State, assignment: string): boolean =>
  db.prepare('SELECT 1 FROM owned WHERE assignment = ? LIMIT 1').get(assignment) !== undefined;
