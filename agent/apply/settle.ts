import { FleetError } from '#bundles/errors';
import type { Agent } from '../agent.ts';
import { aborted } from '../journal/aborted.ts';
import { checkAborted, record } from '../journal/boundary.ts';
import { nameOf } from '../journal/name-of.ts';
import { saveOperation } from '../journal/operations.ts';
import { sayFailed } from '../report/tell-checks.ts';
import { HEALTH, makeDue } from '../store/attempts.ts';
import { isSame } from '../store/package-ref.ts';
import { findPackage } from '../store/packages.ts';
import { fail } from './fail.ts';
import { isSuperseded, supersede } from './supersede.ts';
import type { CheckResult } from './target.ts';
import type { Work } from './work.ts';

/**
 * Waits for the package's verdict on itself. A stop cuts the waiting short, and so does a newer release; the next start
 * waits again, unless another package is wanted by then.
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
    fail({ ...work, operation: { ...operation, checks } }, new FleetError('CHECK_FAILED', sayFailed(failed)));
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
 * Corrections, and a rollback where a newer release already wants another package: they end as soon as they are applied, and
 * judgeHealth waits for the health of what runs then, beside everything else.
 */
const isNotWaitedFor = ({ agent, operation }: Work): boolean => {
  const { assignment, kind, to, rollingBack } = operation;
  if (kind === 'correct') return true;
  const desired = findPackage(agent.state, assignment)?.desired;
  return kind === 'apply' && rollingBack && desired !== undefined && !isSame(desired, to);
};

const eitherOf = ({ signal, news }: Agent): AbortSignal => (news ? AbortSignal.any([signal, news]) : signal);

/** Of a wait that was cut short, no verdict is a verdict. @throws FleetError ABORTED */
const checkNews = ({ news }: Agent): void => {
  if (news?.aborted) throw aborted(news.reason);
};
