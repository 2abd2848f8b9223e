import { FIGHT, findAttempt, forgetFights, isDue, postponeAfter } from '../store/applied/attempts.ts';
import type { Drift } from '../model/target.ts';
import type { Agent } from '../store/agent.ts';

/** Corrections of one object without a pause between them. */
const FREE = 5;

/** Time after the last pause in which no drift came, after which the corrections are counted from the beginning. */
const QUIET_MS = 600_000;

/**
 * Counts a correction of each object that differed. After five that were undone soon after, the next ones of the same object wait: 5 s, then
 * twice as long each time, up to ten minutes, so that two controllers do not roll out pods against each other without an end.
 */
export const noteCorrection = ({ state, edge }: Agent, assignment: string, drift: readonly Drift[]): void => {
  const now = edge.now();
  const count = (): void => {
    forgetFights(state, assignment, new Date(now.getTime() - QUIET_MS));
    for (const { key, stays } of drift)
      if (!stays) postponeAfter(state, { assignment, what: FIGHT + key, free: FREE }, now);
  };
  state.db.transaction(count).immediate();
};

/**
 * The drift with the number of corrections, if the next correction of each object has to wait. undefined: the package may be corrected now, also
 * if only one of its objects need not wait.
 */
export const foughtDrift = (
  { state, edge }: Agent,
  assignment: string,
  drift: readonly Drift[],
): readonly Drift[] | undefined => {
  const now = edge.now();
  const waiting = new Map(
    drift.flatMap(({ key, stays }) => {
      const attempt = stays ? undefined : findAttempt(state, assignment, FIGHT + key);
      return attempt && attempt.tries > FREE && !isDue(attempt, now) ? [[key, attempt] as const] : [];
    }),
  );
  if (waiting.size === 0 || drift.some(({ key, stays }) => !stays && !waiting.has(key))) return undefined;
  return drift.map((one) => {
    const attempt = waiting.get(one.key);
    if (!attempt) return one;
    const said = `the agent has corrected it ${attempt.tries} times, and somebody changes it back; it tries again at ${attempt.next}`;
    return { ...one, message: `${one.message}; ${said}` };
  });
};
