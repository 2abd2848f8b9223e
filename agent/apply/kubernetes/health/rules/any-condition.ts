import { conditionOf, saidBy } from '../condition.ts';
import { listOf, numberOf } from '../live-field.ts';
import { current, inProgress, type Verdict } from '../verdict.ts';

/**
 * Judges unknown kinds by their Ready condition. Without one they are Current, and `proven` says whether a controller has written a
 * status at all (checklist W3).
 */
export const judgeByReady = (object: unknown): Verdict => {
  const ready = conditionOf(object, 'Ready');
  const generation = numberOf(object, 'metadata', 'generation');
  if (ready?.observedGeneration !== undefined && generation !== undefined) {
    const seen = ready.observedGeneration;
    if (seen < generation) return inProgress(`Ready speaks of generation ${seen} of ${generation}`);
  }
  if (ready?.status === 'True') return current(saidBy(ready, 'it is ready'));
  if (ready) return inProgress(`not ready: ${saidBy(ready, `Ready is ${ready.status}`)}`);
  const spoken =
    listOf(object, 'status', 'conditions').length > 0 ||
    numberOf(object, 'status', 'observedGeneration') !== undefined;
  if (spoken) return current('its controller has seen it');
  return { status: 'Current', message: 'its status says nothing', proven: false };
};
