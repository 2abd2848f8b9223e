import { FleetError } from '#bundles/errors';
import { checkAborted, recordUnsynced } from '../store/journal/boundary.ts';
import { nameOf } from '../store/journal/name-of.ts';
import { saveOperation } from '../store/journal/operations.ts';
import { describeFailedChecks } from '../store/outbox/record-checks.ts';
import { HEALTH, makeDue } from '../store/applied/attempts.ts';
import { isSamePackage } from '../store/applied/package-ref.ts';
import { findPackage } from '../store/applied/packages.ts';
import { causeOf, fail } from './fail.ts';
import { stageAgain } from './stage-again.ts';
import { checkNewRelease, untilNewRelease } from './until-new-release.ts';
import { isSuperseded, supersede } from './supersede.ts';
import type { CheckResult } from '../model/target.ts';
import type { Work } from './work.ts';

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
  if (endsWhenApplied(work)) {
    const { assignment } = operation;
    const { checks } = findPackage(agent.state, assignment) ?? operation;
    saveChecks(work, checks, () => makeDue(agent.state, assignment, HEALTH, agent.edge.now()));
    return;
  }
  let checks: readonly CheckResult[];
  try {
    const desired = await load();
    checks = desired ? await target.settle(desired, untilNewRelease(agent)) : [];
  } catch (error) {
    checkNewRelease(agent);
    fail(work, error);
    return;
  }
  checkAborted(agent.signal);
  checkNewRelease(agent);
  const failed = checks.filter(({ outcome }) => outcome === 'failed');
  if (failed.length > 0) {
    const cause = await causeOf(agent, new FleetError('CHECK_FAILED', describeFailedChecks(failed)));
    const error = await stageAgain(work, operation.nextStep, cause);
    if (error) fail({ ...work, operation: { ...operation, checks } }, error);
    return;
  }
  saveChecks(work, checks);
};

const saveChecks = (
  { agent, operation }: Work,
  checks: readonly CheckResult[],
  also: () => void = () => {},
): void =>
  recordUnsynced(agent, `${nameOf(operation)}: settled`, () => {
    also();
    saveOperation(agent.state, { ...operation, checks, phase: isPruned(operation) ? 'keep' : 'prune' });
  });

const isPruned = ({ plan, nextStep }: Work['operation']): boolean => nextStep >= (plan?.steps.length ?? 0);

/**
 * True for corrections, and for a rollback if a newer release already wants another package: they end when applied, and
 * judgeHealth waits for the health of the running package concurrently.
 */
const endsWhenApplied = ({ agent, operation }: Work): boolean => {
  const { assignment, kind, to, rollingBack } = operation;
  if (kind === 'correct') return true;
  const desired = findPackage(agent.state, assignment)?.desired;
  return kind === 'apply' && rollingBack && desired !== undefined && !isSamePackage(desired, to);
};
