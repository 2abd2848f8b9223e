import { formatCount } from '#bundles/format-count';
import type { CheckResult } from '../../../../model/target.ts';
import { nameOf } from '../../api/open-kubernetes-api.ts';
import type { WantedObject } from '../../desired/wanted-object.ts';

/** Number of failing objects to name; further ones are counted. */
const MAX_NAMED = 25;

export type Ended = { readonly wanted: WantedObject; readonly message: string };

/**
 * Names failing objects, with one line for all that passed and one for all that are not waited for, so that a report stays short for
 * thousands of objects.
 */
export const toChecks = (
  counts: { readonly passed: number; readonly left: number; readonly waiting: number },
  failing: readonly Ended[],
): readonly CheckResult[] => {
  const checks: CheckResult[] = failing.slice(0, MAX_NAMED).map(({ wanted, message }) => ({
    name: nameOf(wanted),
    outcome: 'failed',
    message,
  }));
  const unnamed = failing.length - MAX_NAMED;
  if (unnamed > 0) {
    checks.push({ name: 'more objects', outcome: 'failed', message: `${objects(unnamed)} more failed too` });
  }
  const { passed, left, waiting } = counts;
  const leftOut = `${objects(left)} left out (fleet-ferry/wait: disabled)`;
  // If the package excludes all its objects from the health check, its health is unknown.
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

const objects = (count: number): string => formatCount(count, 'object');
