import { formatTime } from '#bundles/time';
import { isSame } from '../store/applied/package-ref.ts';
import { findPackage } from '../store/applied/packages.ts';
import { record } from '../store/journal/boundary.ts';
import { nameOf } from '../store/journal/name-of.ts';
import { saveOperation } from '../store/journal/operations.ts';
import { appendEvent } from '../store/outbox/outbox.ts';
import type { Work } from './work.ts';

/** True if another version is desired by now. Applies to forward applies only, not to rollbacks and operator requests. */
export const isSuperseded = ({ agent, operation }: Work): boolean => {
  const { assignment, kind, to, rollingBack } = operation;
  if (kind !== 'apply' || rollingBack || !to) return false;
  const desired = findPackage(agent.state, assignment)?.desired;
  return desired !== undefined && !isSame(desired, to);
};

/**
 * Ends an operation without waiting for health. Its objects stay owned (the inventory was written ahead), the last good version
 * stays the same, and the newer package is applied over both.
 */
export const supersede = ({ agent, operation }: Work): void => {
  const { assignment, to } = operation;
  const message = 'a newer release came before it was known to be healthy';
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
      ...(to ? { package: to.package, siteValues: to.siteValues, release: to.release } : {}),
      outcome: 'skipped',
      message,
    });
  });
};
