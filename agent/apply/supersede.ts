import { formatTime } from '#bundles/time';
import { record } from '../journal/boundary.ts';
import { nameOf } from '../journal/name-of.ts';
import { saveOperation } from '../journal/operations.ts';
import { appendEvent } from '../report/outbox.ts';
import { isSame } from '../store/package-ref.ts';
import { findPackage } from '../store/packages.ts';
import type { Work } from './work.ts';

/** Another package is wanted in its place by now; not said of ways back and of what a person asked for. */
export const isSuperseded = ({ agent, operation }: Work): boolean => {
  const { assignment, kind, to, rollingBack } = operation;
  if (kind !== 'apply' || rollingBack || !to) return false;
  const desired = findPackage(agent.state, assignment)?.desired;
  return desired !== undefined && !isSame(desired, to);
};

/**
 * Ends an operation whose health nobody waits for any more. What it wrote stays owned (the inventory was written ahead), what
 * was last good stays so, and the newer package is applied over both.
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
