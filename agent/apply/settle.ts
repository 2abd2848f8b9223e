import { FleetError } from '#bundles/errors';
import { checkAborted, record } from '../journal/boundary.ts';
import { nameOf } from '../journal/name-of.ts';
import { saveOperation } from '../journal/operations.ts';
import { fail } from './fail.ts';
import type { CheckResult } from './target.ts';
import type { Work } from './work.ts';

/** Waits for the package's verdict on itself. A stop cuts the waiting short: the next start waits again. */
export const settle = async (work: Work): Promise<void> => {
  const { agent, target, operation, load } = work;
  let checks: readonly CheckResult[];
  try {
    const desired = await load();
    checks = desired ? await target.settle(desired, agent.signal) : [];
  } catch (error) {
    fail(work, error);
    return;
  }
  checkAborted(agent.signal);
  const failed = checks.filter(({ outcome }) => outcome === 'failed');
  if (failed.length > 0) {
    const said = failed.map(({ name, message }) => `${name}: ${message}`).join('; ');
    fail({ ...work, operation: { ...operation, checks } }, new FleetError('CHECK_FAILED', said));
    return;
  }
  record(agent, `${nameOf(operation)}: settled`, () =>
    saveOperation(agent.state, { ...operation, checks, phase: 'keep' }),
  );
};
