import { conditionOf, saidBy } from '../condition.ts';
import { fieldOf, textOf } from '../live-field.ts';
import { current, failed, inProgress, type Verdict } from '../verdict.ts';
import { countOf } from './replicas.ts';

/** A Job is healthy when complete, not when started, so a running migration blocks the packages that depend on it. */
export const judgeJob = (object: unknown): Verdict => {
  const end = conditionOf(object, 'Failed');
  if (end?.status === 'True') return failed(saidBy(end, 'it failed'), 0);
  if (conditionOf(object, 'Complete')?.status === 'True') return current('it is complete');
  if (conditionOf(object, 'Suspended')?.status === 'True' || fieldOf(object, 'spec', 'suspend') === true) {
    return current('it is suspended');
  }
  if (textOf(object, 'status', 'startTime') === undefined) return inProgress('it has not started yet');
  const [active, gone] = [countOf(object, 'active'), countOf(object, 'failed')];
  const before = gone > 0 ? `, ${gone} failed before` : '';
  return inProgress(`it runs: ${active} ${active === 1 ? 'pod' : 'pods'} active${before}`);
};
