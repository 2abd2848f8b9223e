import type { Agent } from '../agent.ts';
import { findAttempt, isDue, tryOf } from '../store/attempts.ts';
import type { PackageRef } from '../store/package-ref.ts';
import type { PackageRow } from '../store/packages.ts';
import type { PackageResult } from './package-result.ts';

/**
 * A package that failed because of its surroundings, and whose pause is not over yet: the result says again what it failed of.
 * @param desired undefined for its removal
 */
export const pausedFailure = (
  { state, edge }: Agent,
  { assignment, status, code, message }: PackageRow,
  desired: PackageRef | undefined,
): PackageResult | undefined => {
  const attempt = findAttempt(state, assignment, tryOf(desired));
  if (!attempt || isDue(attempt, edge.now()) || (status !== 'failed' && status !== 'broken'))
    return undefined;
  const said = { ...(code === undefined ? {} : { code }), ...(message === undefined ? {} : { message }) };
  return { assignment, outcome: 'failed', ...said };
};
