import { formatTime } from '#bundles/time';
import { isSamePackage } from '../store/applied/package-ref.ts';
import { findPackage } from '../store/applied/packages.ts';
import { record } from '../store/journal/boundary.ts';
import { nameOf } from '../store/journal/name-of.ts';
import { appendEvent } from '../store/outbox/outbox.ts';
import type { Agent } from '../store/agent.ts';
import { type Operation, saveOperation } from '../store/journal/operations.ts';
import type { Work } from './work.ts';

/** True if another version is desired by now. Applies to forward applies only, not to rollbacks and operator requests. */
export const isSuperseded = ({ agent, operation }: Work): boolean => {
  const { assignment, kind, to, rollingBack } = operation;
  if (kind !== 'apply' || rollingBack || !to) return false;
  const desired = findPackage(agent.state, assignment)?.desired;
  return desired !== undefined && !isSamePackage(desired, to);
};

/**
 * Ends an operation without waiting for health. Its objects stay owned (the inventory was written ahead), the last good version
 * stays the same, and the newer package is applied over both.
 */
export const supersede = ({ agent, operation }: Work): void =>
  endWithoutWait(agent, operation, 'a newer release came before it was known to be healthy');

export const endWithoutWait = (agent: Agent, operation: Operation, message: string): void => {
  const { assignment, to } = operation;
  record(agent, `${nameOf(operation)}: superseded`, () => {
    saveOperation(agent.state, {
      ...operation,
      phase: 'done',
      outcome: 'superseded',
      message,
      endedAt: formatTime(agent.edge.now()),
    });
    appendEvent(agent, {
      type: 'package',
      assignment,
      package: to?.package,
      siteValues: to?.siteValues,
      release: to?.release,
      outcome: 'skipped',
      message,
    });
  });
};
