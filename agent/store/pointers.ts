import type { Digest } from '#bundles/digest';
import type { State } from './state.ts';

/** Tags of a registry, '<host>/<repository>:<tag>', and the manifests they named when the offer behind them was accepted. */
export const readPointers = ({ db }: State): ReadonlyMap<string, Digest> => {
  const rows = db.prepare('SELECT reference, digest FROM pointer').all();
  return new Map((rows as { reference: string; digest: Digest }[]).map((row) => [row.reference, row.digest]));
};

/** Inside the accepting transaction. What was refused before is over: the same refusal later is news again. */
export const savePointers = ({ db }: State, pointers: ReadonlyMap<string, Digest>): void => {
  if (pointers.size === 0) return;
  db.prepare('DELETE FROM pointer').run();
  db.prepare('DELETE FROM refusal').run();
  const insert = db.prepare('INSERT INTO pointer VALUES (?, ?)');
  for (const [reference, digest] of pointers) insert.run(reference, digest);
};

/** Refusals that are remembered; whoever finds more ways to be refused is not told of one by one. */
const MAX_REFUSALS = 64;

/** Was this very refusal told before, or are there too many to tell of another? */
export const isOldRefusal = ({ db }: State, refusal: string): boolean => {
  const { count } = db.prepare('SELECT count(*) AS count FROM refusal').get() as { count: number };
  return (
    count >= MAX_REFUSALS || db.prepare('SELECT 1 FROM refusal WHERE what = ?').get(refusal) !== undefined
  );
};

export const rememberRefusal = ({ db }: State, refusal: string): void => {
  db.prepare('INSERT OR IGNORE INTO refusal VALUES (?)').run(refusal);
};
