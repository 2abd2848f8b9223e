import type { Digest } from '#bundles/digest';
import type { State } from '../state.ts';

/** Registry tags ('<host>/<repository>:<tag>') -> the manifests they named when their offer was accepted. */
export const readPointers = ({ db }: State): ReadonlyMap<string, Digest> => {
  const rows = db.prepare('SELECT reference, digest FROM pointer').all();
  return new Map((rows as { reference: string; digest: Digest }[]).map((row) => [row.reference, row.digest]));
};

/** Must run inside the accepting transaction. Clears remembered refusals, so that they are reported if they occur again. */
export const savePointers = ({ db }: State, pointers: ReadonlyMap<string, Digest>): void => {
  if (pointers.size === 0) return;
  db.prepare('DELETE FROM pointer').run();
  db.prepare('DELETE FROM refusal').run();
  const insert = db.prepare('INSERT INTO pointer VALUES (?, ?)');
  for (const [reference, digest] of pointers) insert.run(reference, digest);
};

/** The next poll then takes the offer of the registry as news, and the pull copies every blob that the store does not have. */
export const forgetPointers = ({ db }: State): void => {
  db.prepare('DELETE FROM pointer').run();
};

/** Upper bound on remembered refusals. Further ones are not reported. */
const MAX_REFUSALS = 64;

/** True if this refusal was reported before, or if MAX_REFUSALS is reached. */
export const isOldRefusal = ({ db }: State, refusal: string): boolean => {
  const { count } = db.prepare('SELECT count(*) AS count FROM refusal').get() as { count: number };
  return (
    count >= MAX_REFUSALS || db.prepare('SELECT 1 FROM refusal WHERE what = ?').get(refusal) !== undefined
  );
};

export const rememberRefusal = ({ db }: State, refusal: string): void => {
  db.prepare('INSERT OR IGNORE INTO refusal VALUES (?)').run(refusal);
};
