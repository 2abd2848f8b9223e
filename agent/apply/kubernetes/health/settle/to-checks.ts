import type { CheckResult } from '../../../../model/target.ts';
import { nameOf } from '../../api/open-kubernetes-api.ts';
import type { WantedObject } from '../../desired/wanted-object.ts';

/** So many failing objects are named; the rest is counted. */
const MOST_NAMED = 25;

export type Ended = { readonly wanted: WantedObject; readonly message: string };

/**
 * Failing objects by name, one line for all that passed, one for those that nobody waits for: thousands of objects make
 * a report of the same few lines.
 */
export const toChecks = (
  counts: { readonly passed: number; readonly left: number; readonly waiting: number },
  failing: readonly Ended[],
): readonly CheckResult[] => {
  const checks: CheckResult[] = failing.slice(0, MOST_NAMED).map(({ wanted, message }) => ({
    name: nameOf(wanted),
    outcome: 'failed',
    message,
  }));
  const unnamed = failing.length - MOST_NAMED;
  if (unnamed > 0) {
    checks.push({ name: 'more objects', outcome: 'failed', message: `${objects(unnamed)} more failed too` });
  }
  const { passed, left, waiting } = counts;
  const leftOut = `${objects(left)} left out (fleet-ferry/wait: disabled)`;
  // The package says itself what its health does not depend on. Where that is everything, nobody knows its health.
  if (passed > 0) {
    const message = `${objects(passed)} healthy${left > 0 ? `, ${leftOut}` : ''}`;
    checks.push({ name: 'objects', outcome: 'passed', message });
  }
  if (waiting > 0) {
    const message = `${objects(waiting)} not ready when the wait ended because of the failed`;
    checks.push({ name: 'unfinished objects', outcome: 'skipped', message });
  }
  if (left > 0 && passed === 0)
    checks.push({ name: 'objects not waited for', outcome: 'skipped', message: leftOut });
  return checks;
};

const objects = (count: number): string => `${count} ${count === 1 ? 'object' : 'objects'}`;
