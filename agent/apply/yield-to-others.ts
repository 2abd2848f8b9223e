import type { Agent } from '../store/agent.ts';
import { findFailure } from '../store/applied/failures.ts';
import { isSamePackage } from '../store/applied/package-ref.ts';
import { readPackages } from '../store/applied/packages.ts';
import { type Operation, openOperations } from '../store/journal/operations.ts';
import { pausedFailure } from './paused-failure.ts';
import { secondsOf } from './read-turns.ts';
import { endWithoutWait } from './supersede.ts';

/** A wait of less goes on. */
const SHORT_SECONDS = 60;

/**
 * Ends interrupted operations that only waited for the health of a package, if another package can go first: a new release came
 * during the wait. The package is applied again after the others, over what is there, and its health is waited for then. An operation that
 * has taken objects over, or is a rollback, is not ended: what it would undo is in its journal row.
 * @returns the packages whose operations were ended
 */
export const yieldToOthers = async (agent: Agent): Promise<readonly string[]> => {
  const open = openOperations(agent.state);
  const ended: string[] = [];
  for (const operation of open) {
    const { assignment, to } = operation;
    if (!to || !isWaitingForHealth(operation) || !hasOthersWaiting(agent, assignment, open)) continue;
    if ((await secondsOf(agent, to)) <= SHORT_SECONDS) continue;
    endWithoutWait(
      agent,
      operation,
      'other packages of the release go first; its health is waited for after them',
    );
    ended.push(assignment);
  }
  return ended;
};

const isWaitingForHealth = ({ kind, phase, rollingBack, handed, to }: Operation): boolean =>
  kind === 'apply' && phase === 'settle' && !rollingBack && handed.length === 0 && !!to && !to.critical;

/** @param open operations that go on beside each other: none waits for one whose version is still desired */
const hasOthersWaiting = (agent: Agent, assignment: string, open: readonly Operation[]): boolean => {
  const goals = new Map(open.map((one) => [one.assignment, one.to]));
  const rows = readPackages(agent.state).filter(
    (row) => !goals.has(row.assignment) || !isSamePackage(goals.get(row.assignment), row.desired),
  );
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
