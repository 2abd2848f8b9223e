import type { Agent } from '../store/agent.ts';
import { findAttempt, isDue, REMOVAL } from '../store/applied/attempts.ts';
import { readLeaving } from '../store/applied/inventory.ts';
import { isHalfRemoved, type PackageRow, readPackages } from '../store/applied/packages.ts';
import { begin, perform } from './perform.ts';
import type { PackageResult } from './package-result.ts';

/**
 * Removes the objects that running packages no longer have and that could not be removed so far, whose pause is over. Objects that are
 * left have a result with REMOVAL_WAITS, which joins the result of the package in this run if it has one.
 */
export const finishRemovals = async (
  agent: Agent,
  results: readonly PackageResult[],
): Promise<readonly PackageResult[]> => {
  const all = new Map(results.map((result) => [result.assignment, result]));
  for (const row of readPackages(agent.state)) {
    if (row.desired === undefined || !mayBeGone(agent, row)) continue;
    const waits = await finishRemoval(agent, row);
    if (!waits) continue;
    const { assignment } = row;
    all.set(assignment, { ...(all.get(assignment) ?? { assignment, outcome: 'skipped' }), ...waits });
  }
  return [...all.values()];
};

/** True if the package has objects that were still to be deleted, and the pause since the last try is over. */
export const mayBeGone = ({ state, edge }: Agent, row: PackageRow): boolean => {
  const { assignment, current, status } = row;
  if (!current || status === 'broken' || isHalfRemoved(row)) return false;
  if (readLeaving(state, assignment).length === 0) return false;
  const attempt = findAttempt(state, assignment, REMOVAL);
  return attempt === undefined || isDue(attempt, edge.now());
};

/** Tries the removals again. Returns what still waits; undefined if nothing does. */
export const finishRemoval = async (
  agent: Agent,
  { assignment, current }: PackageRow,
): Promise<Pick<PackageResult, 'code' | 'message'> | undefined> => {
  const id = begin(agent, { assignment, kind: 'prune', from: current, to: current });
  const { code, message } = await perform(agent, id);
  return code === undefined || message === undefined ? undefined : { code, message };
};
