import { pauseMs, type RetryPolicy } from '#bundles/retry';
import { formatTime, parseTime, type Timestamp } from '#bundles/time';
import { identityOf, type PackageRef } from './package-ref.ts';
import type { State } from '../state.ts';

/**
 * Retry state of an operation that failed for an external reason or whose package is not healthy yet: the number of tries
 * and the time of the next one. Stored in the database, so that a restart neither drops nor extends the pause.
 */
export type Attempt = { readonly tries: number; readonly next: Timestamp };

/** Names of retries other than an apply: judging health, and removing objects that a finalizer holds. */
export const HEALTH = 'health';
export const REMOVAL = 'removal';
/** Beginning of the name of a retry for each object whose corrections somebody undoes; its key follows. */
export const FIGHT = 'fight ';

const POLICY: RetryPolicy = { firstMs: 5000, longestMs: 600_000, jitter: 'none' };

/** Milliseconds before the next try: 5 s after the first, doubled after each further try, at most ten minutes. */
export const pauseAfter = (tries: number): number => pauseMs(POLICY, tries);

/** Name of the retry of an apply, or of a removal when `ref` is undefined. */
export const tryOf = (ref: PackageRef | undefined): string => (ref ? identityOf(ref) : 'removed');

export const findAttempt = ({ db }: State, assignment: string, what: string): Attempt | undefined =>
  db.prepare('SELECT tries, next FROM attempt WHERE assignment = ? AND what = ?').get(assignment, what) as
    | Attempt
    | undefined;

/** True if the pause is over, or longer than any pause can be because the clock was set back. */
export const isDue = ({ next }: Attempt, now: Date): boolean => {
  const left = parseTime(next).getTime() - now.getTime();
  return left <= 0 || left > POLICY.longestMs;
};

/** Makes a retry due at `now` and keeps the number of tries, because something relevant has changed. */
export const makeDue = ({ db }: State, assignment: string, what: string, now: Date): void => {
  db.prepare(
    `INSERT INTO attempt VALUES (?, ?, 0, ?) ON CONFLICT (assignment, what) DO UPDATE SET next = excluded.next`,
  ).run(assignment, what, formatTime(now));
};

/** Records another failed try and schedules the next one. */
export const postpone = (state: State, assignment: string, what: string, now: Date): void =>
  postponeAfter(state, { assignment, what, free: 0 }, now);

/** As postpone, with a number of tries without a pause. */
export const postponeAfter = (
  state: State,
  { assignment, what, free }: { readonly assignment: string; readonly what: string; readonly free: number },
  now: Date,
): void => {
  const tries = (findAttempt(state, assignment, what)?.tries ?? 0) + 1;
  const pause = tries > free ? pauseAfter(tries - free) : 0;
  state.db
    .prepare('INSERT OR REPLACE INTO attempt VALUES (?, ?, ?, ?)')
    .run(assignment, what, tries, formatTime(new Date(now.getTime() + pause)));
};

/**
 * Deletes all retries of a package that came up, except the removal of leftovers, which may still be under way, and the count of its
 * corrections.
 */
export const forgetTries = ({ db }: State, assignment: string): void => {
  db.prepare('DELETE FROM attempt WHERE assignment = ? AND what <> ? AND substr(what, 1, 6) <> ?').run(
    assignment,
    REMOVAL,
    FIGHT,
  );
};

/** Deletes the counts of corrections whose last pause ended before a time. */
export const forgetFights = ({ db }: State, assignment: string, endedBefore: Date): void => {
  db.prepare('DELETE FROM attempt WHERE assignment = ? AND substr(what, 1, 6) = ? AND next < ?').run(
    assignment,
    FIGHT,
    formatTime(endedBefore),
  );
};

/** Deletes a retry that has succeeded or is no longer wanted. */
export const forgetAttempts = ({ db }: State, assignment: string, what: string): void => {
  db.prepare('DELETE FROM attempt WHERE assignment = ? AND what = ?').run(assignment, what);
};

/** Makes all retries due now and resets their pauses: the cause of the failures may have been fixed. */
export const makeAllDue = ({ db }: State, now: Date): void => {
  db.prepare('UPDATE attempt SET tries = 0, next = ?').run(formatTime(now));
};

/** Makes the removals that wait due now, of these packages or of all. */
export const makeRemovalsDue = ({ db }: State, assignments: readonly string[], now: Date): void => {
  db.prepare(
    `UPDATE attempt SET tries = 0, next = @now WHERE what = @what
     AND (@all = 1 OR assignment IN (SELECT value FROM json_each(@names)))`,
  ).run({
    what: REMOVAL,
    now: formatTime(now),
    all: assignments.length === 0 ? 1 : 0,
    names: JSON.stringify(assignments),
  });
};

/** Assignments whose health check is due now. Sorted. */
export const dueForHealth = ({ db }: State, now: Date): readonly string[] =>
  (
    db.prepare('SELECT * FROM attempt WHERE what = ? ORDER BY assignment').all(HEALTH) as (Attempt & {
      assignment: string;
    })[]
  )
    .filter((attempt) => isDue(attempt, now))
    .map(({ assignment }) => assignment);

/** The earliest end of a running pause; undefined without one. */
export const nextAttempt = ({ db }: State, now: Date): Date | undefined => {
  const { next } = db
    .prepare('SELECT min(next) AS next FROM attempt WHERE next > ?')
    .get(formatTime(now)) as {
    next: Timestamp | null;
  };
  return next === null ? undefined : parseTime(next);
};
