import { FIGHT, findAttempt, forgetAttempts, isDue, postponeAfter } from '../store/applied/attempts.ts';
import type { Drift } from '../model/target.ts';
import { parseTime } from '#bundles/time';
import type { Agent } from '../store/agent.ts';

/** Corrections without a pause between them. */
const FREE = 5;

/** Time after the last pause in which no drift came, after which the corrections are counted from the beginning. */
const QUIET_MS = 600_000;

/**
 * Counts a correction. After five that were undone soon after, the next ones wait: 5 s, then twice as long each time, up to ten minutes, so
 * that two controllers do not roll out pods against each other without an end.
 */
export const noteCorrection = ({ state, edge }: Agent, assignment: string): void => {
  const now = edge.now();
  const before = findAttempt(state, assignment, FIGHT);
  if (before && now.getTime() - parseTime(before.next).getTime() > QUIET_MS)
    forgetAttempts(state, assignment, FIGHT);
  postponeAfter(state, { assignment, what: FIGHT, free: FREE }, now);
};

/** The drift with the number of its corrections, while the next one waits; undefined: it may be corrected now. */
export const foughtDrift = (
  { state, edge }: Agent,
  assignment: string,
  drift: readonly Drift[],
): readonly Drift[] | undefined => {
  const attempt = findAttempt(state, assignment, FIGHT);
  if (!attempt || attempt.tries <= FREE || isDue(attempt, edge.now())) return undefined;
  const said = `the agent has corrected this package ${attempt.tries} times, and somebody changes it back; it tries again at ${attempt.next}`;
  return drift.map((one) => (one.stays ? one : { ...one, message: `${one.message}; ${said}` }));
};
