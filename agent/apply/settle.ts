import { FleetError } from '#bundles/errors';
import type { Agent } from '../agent.ts';
import { aborted } from '../journal/aborted.ts';
import { checkAborted, record } from '../journal/boundary.ts';
import { nameOf } from '../journal/name-of.ts';
import { saveOperation } from '../journal/operations.ts';
import { sayFailed } from '../report/tell-checks.ts';
import { fail } from './fail.ts';
import { isSuperseded, supersede } from './supersede.ts';
import type { CheckResult } from './target.ts';
import type { Work } from './work.ts';

/**
 * Waits for the package's verdict on itself. A stop cuts the waiting short, and so does a newer release; whoever goes on
 * waits again, unless another package is wanted by then.
 */
export const settle = async (work: Work): Promise<void> => {
  const { agent, target, operation, load } = work;
  if (isSuperseded(work)) {
    supersede(work);
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
  record(agent, `${nameOf(operation)}: settled`, () =>
    saveOperation(agent.state, { ...operation, checks, phase: 'keep' }),
  );
};

const eitherOf = ({ signal, news }: Agent): AbortSignal => (news ? AbortSignal.any([signal, news]) : signal);

/** Of a wait that was cut short, no verdict is a verdict. @throws FleetError ABORTED */
const checkNews = ({ news }: Agent): void => {
  if (news?.aborted) throw aborted(news.reason);
};
