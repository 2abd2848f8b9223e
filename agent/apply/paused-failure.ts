import { defined } from '#bundles/defined';
import type { Agent } from '../store/agent.ts';
import { findAttempt, isDue, tryOf } from '../store/applied/attempts.ts';
import type { PackageRef } from '../store/applied/package-ref.ts';
import type { PackageRow } from '../store/applied/packages.ts';
import type { PackageResult } from './package-result.ts';

/**
 * Returns the last failure of a package while its retry pause lasts, otherwise undefined.
 * @param desired undefined for a removal
 */
export const pausedFailure = (
  { state, edge }: Agent,
  { assignment, status, code, message }: PackageRow,
  desired: PackageRef | undefined,
): PackageResult | undefined => {
  const attempt = findAttempt(state, assignment, tryOf(desired));
  if (!attempt || isDue(attempt, edge.now()) || (status !== 'failed' && status !== 'broken'))
    return undefined;
  const said = defined({ code, message });
  return { assignment, outcome: 'failed', ...said };
};
