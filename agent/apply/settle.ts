import { FleetError } from '#bundles/errors';
import type { Agent } from '../store/agent.ts';
import { aborted } from '../store/journal/aborted.ts';
import { checkAborted, record } from '../store/journal/boundary.ts';
import { nameOf } from '../store/journal/name-of.ts';
import { saveOperation } from '../store/journal/operations.ts';
import { sayFailed } from '../store/outbox/tell-checks.ts';
import { HEALTH, makeDue } from '../store/applied/attempts.ts';
import { isSame } from '../store/applied/package-ref.ts';
import { findPackage } from '../store/applied/packages.ts';
import { causeOf, fail } from './fail.ts';
import type { CheckResult } from '../model/target.ts';
import type { Work } from './work.ts';
import { formatTime } from '#bundles/time';
import { appendEvent } from '../store/outbox/outbox.ts';

/**
 * Waits for the health checks of the package. A stop or a newer release interrupts the wait; the next start waits again, unless
 * another package is desired by then. @throws FleetError ABORTED
 */
export const settle = async (work: Work): Promise<void> => {
  const { agent, target, operation, load } = work;
  if (isSuperseded(work)) {
    supersede(work);
    return;
  }
  if (isNotWaitedFor(work)) {
    const { assignment } = operation;
    const { checks } = findPackage(agent.state, assignment) ?? operation;
    saveChecks(work, checks, () => makeDue(agent.state, assignment, HEALTH, agent.edge.now()));
    return;
  }
  let checks: readonly CheckResult[];
  try {
    const desired = await load();
    checks = desired ? await target.settle(desired, eitherOf(agent)) : [];
  } catch (error) {
    checkNews(agent);
    fail(work, error);
    return;
  }
  checkAborted(agent.signal);
  checkNews(agent);
  const failed = checks.filter(({ outcome }) => outcome === 'failed');
  if (failed.length > 0) {
    const error = await causeOf(agent, new FleetError('CHECK_FAILED', sayFailed(failed)));
    fail({ ...work, operation: { ...operation, checks } }, error);
    return;
  }
  saveChecks(work, checks);
};

const saveChecks = (
  { agent, operation }: Work,
  checks: readonly CheckResult[],
  also: () => void = () => {},
): void =>
  record(agent, `${nameOf(operation)}: settled`, () => {
    also();
    saveOperation(agent.state, { ...operation, checks, phase: 'keep' });
  });

/**
 * True for corrections, and for a rollback if a newer release already wants another package: they end when applied, and
 * judgeHealth waits for the health of the running package concurrently.
 */
const isNotWaitedFor = ({ agent, operation }: Work): boolean => {
  const { assignment, kind, to, rollingBack } = operation;
  if (kind === 'correct') return true;
  const desired = findPackage(agent.state, assignment)?.desired;
  return kind === 'apply' && rollingBack && desired !== undefined && !isSame(desired, to);
};

const eitherOf = ({ signal, news }: Agent): AbortSignal => (news ? AbortSignal.any([signal, news]) : signal);

/** Discards the result of an interrupted wait. @throws FleetError ABORTED when a newer release is ready */
const checkNews = ({ news }: Agent): void => {
  if (news?.aborted) throw aborted(news.reason);
};

/** True if another version is desired by now. Applies to forward applies only, not to rollbacks and operator requests. */
const isSuperseded = ({ agent, operation }: Work): boolean => {
  const { assignment, kind, to, rollingBack } = operation;
  if (kind !== 'apply' || rollingBack || !to) return false;
  const desired = findPackage(agent.state, assignment)?.desired;
  return desired !== undefined && !isSame(desired, to);
};

/**
 * Ends an operation without waiting for health. Its objects stay owned (the inventory was written ahead), the last good version
 * stays the same, and the newer package is applied over both.
 */
const supersede = ({ agent, operation }: Work): void => {
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
