import type { Agent } from '../store/agent.ts';
import { findFailure } from '../store/applied/failures.ts';
import { isSamePackage } from '../store/applied/package-ref.ts';
import { readPackages } from '../store/applied/packages.ts';
import { type Operation, openOperation } from '../store/journal/operations.ts';
import { pausedFailure } from './paused-failure.ts';
import { secondsOf } from './read-turns.ts';
import { endWithoutWait } from './supersede.ts';

/** A wait of less goes on. */
const SHORT_SECONDS = 60;

/**
 * Ends an interrupted operation that only waited for the health of a package, if another package can go first: a new release came
 * during the wait. The package is applied again after the others, over what is there, and its health is waited for then. An operation that
 * has taken objects over, or is a rollback, is not ended: what it would undo is in its journal row.
 * @returns the package whose operation was ended
 */
export const yieldToOthers = async (agent: Agent): Promise<string | undefined> => {
  const open = openOperation(agent.state);
  if (!open?.to || !isWaitingForHealth(open) || !hasOthersWaiting(agent, open)) return undefined;
  if ((await secondsOf(agent, open.to)) <= SHORT_SECONDS) return undefined;
  endWithoutWait(agent, open, 'other packages of the release go first; its health is waited for after them');
  return open.assignment;
};

const isWaitingForHealth = ({ kind, phase, rollingBack, handed, to }: Operation): boolean =>
  kind === 'apply' && phase === 'settle' && !rollingBack && handed.length === 0 && !!to && !to.critical;

const hasOthersWaiting = (agent: Agent, { assignment }: Operation): boolean => {
  const rows = readPackages(agent.state);
  const behind = new Set([assignment]);
  // Iterating a Set includes entries added meanwhile.
  for (const name of behind)
    for (const row of rows) if (row.desired?.dependsOn.includes(name)) behind.add(row.assignment);
  return rows.some((row) => {
    const { desired, current, pinnedRelease } = row;
    if (!desired || pinnedRelease !== undefined || isSamePackage(current, desired)) return false;
    if (behind.has(row.assignment) || desired.dependsOn.some((name) => behind.has(name))) return false;
    return !findFailure(agent.state, row.assignment, desired) && !pausedFailure(agent, row, desired);
  });
};
