import { conditionOf, saidBy } from '../condition.ts';
import { current, failed, inProgress, type Verdict } from '../verdict.ts';

/** The metrics of new pods take a minute or two: until then it complains of them. */
const PATIENCE_MS = 120_000;

export const judgeAutoscaler = (object: unknown): Verdict => {
  const able = conditionOf(object, 'AbleToScale');
  if (able?.status === 'False') return failed(saidBy(able, 'it cannot scale'), PATIENCE_MS);
  const active = conditionOf(object, 'ScalingActive');
  // Its target stands at 0 replicas: somebody switched it off on purpose.
  if (active?.status === 'False' && active.reason === 'ScalingDisabled')
    return current('it is switched off (0 replicas)');
  if (active?.status === 'False') return failed(saidBy(active, 'it does not scale'), PATIENCE_MS);
  if (able?.status === 'True') return current(saidBy(able, 'it can scale'));
  return inProgress('its controller has not looked at it yet');
};
