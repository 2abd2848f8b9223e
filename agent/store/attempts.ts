import { formatTime, parseTime, type Timestamp } from '#bundles/time';
import { identityOf, type PackageRef } from './package-ref.ts';
import type { State } from './state.ts';

/**
 * What failed because of its surroundings, or has not become healthy, and is tried again: how often it was tried, and when it
 * is tried next. Kept in the database, so that a restart neither forgets the pause nor adds to it.
 */
export type Attempt = { readonly tries: number; readonly next: Timestamp };

/** Names of retries other than an apply: judging the health of what runs, and removing objects that a finalizer holds. */
export const HEALTH = 'health';
export const REMOVAL = 'removal';

const FIRST_MS = 5000;
const LONGEST_MS = 600_000;

/** Milliseconds before the next try, after so many: 5 s, twice as long each time, up to ten minutes. */
export const pauseAfter = (tries: number): number =>
  Math.min(LONGEST_MS, FIRST_MS * 2 ** Math.min(20, Math.max(0, tries - 1)));

/** The name of an application, or of a package's removal. */
export const tryOf = (ref: PackageRef | undefined): string => (ref ? identityOf(ref) : 'removed');

export const findAttempt = ({ db }: State, assignment: string, what: string): Attempt | undefined =>
  db.prepare('SELECT tries, next FROM attempt WHERE assignment = ? AND what = ?').get(assignment, what) as
    | Attempt
    | undefined;

/** Is its pause over? A clock that was set back by more than any pause does not make it longer. */
export const isDue = ({ next }: Attempt, now: Date): boolean => {
  const left = parseTime(next).getTime() - now.getTime();
  return left <= 0 || left > LONGEST_MS;
};

/** Due at `now` and tried no more often than before: something has changed. */
export const makeDue = ({ db }: State, assignment: string, what: string, now: Date): void => {
  db.prepare(
    `INSERT INTO attempt VALUES (?, ?, 0, ?) ON CONFLICT (assignment, what) DO UPDATE SET next = excluded.next`,
  ).run(assignment, what, formatTime(now));
};

/** It was tried once more, in vain. */
export const putOff = (state: State, assignment: string, what: string, now: Date): void => {
  const tries = (findAttempt(state, assignment, what)?.tries ?? 0) + 1;
  state.db
    .prepare('INSERT OR REPLACE INTO attempt VALUES (?, ?, ?, ?)')
    .run(assignment, what, tries, formatTime(new Date(now.getTime() + pauseAfter(tries))));
};

/** The package came up: nothing of it waits to be tried or judged any more. What it left behind may still be going. */
export const forgetTries = ({ db }: State, assignment: string): void => {
  db.prepare('DELETE FROM attempt WHERE assignment = ? AND what <> ?').run(assignment, REMOVAL);
};

/** It has succeeded, or is not wanted any more. */
export const forgetAttempts = ({ db }: State, assignment: string, what: string): void => {
  db.prepare('DELETE FROM attempt WHERE assignment = ? AND what = ?').run(assignment, what);
};

/** A person may have mended what was in the way: everything is tried now, and the pauses begin anew. */
export const makeAllDue = ({ db }: State, now: Date): void => {
  db.prepare('UPDATE attempt SET tries = 0, next = ?').run(formatTime(now));
};

/** Assignments whose health is to be waited for now. Sorted. */
export const dueForHealth = ({ db }: State, now: Date): readonly string[] =>
  (
    db.prepare('SELECT * FROM attempt WHERE what = ? ORDER BY assignment').all(HEALTH) as (Attempt & {
      assignment: string;
    })[]
  )
    .filter((attempt) => isDue(attempt, now))
    .map(({ assignment }) => assignment);

/** When the first of the pauses that are under way ends; undefined where none is. */
export const nextAttempt = ({ db }: State, now: Date): Date | undefined => {
  const { next } = db
    .prepare('SELECT min(next) AS next FROM attempt WHERE next > ?')
    .get(formatTime(now)) as {
    next: Timestamp | null;
  };
  return next === null ? undefined : parseTime(next);
};
