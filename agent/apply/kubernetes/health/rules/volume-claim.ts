import { textOf } from '../live-field.ts';
import { current, failed, type HealthContext, inProgress, type Verdict } from '../verdict.ts';

/** Set by the scheduler when a pod that uses the claim has a node. Only then binding is expected. */
const SELECTED_NODE = 'volume.kubernetes.io/selected-node';

export const judgeVolumeClaim = (
  object: unknown,
  { lateBinding }: Pick<HealthContext, 'lateBinding'>,
): Verdict => {
  const phase = textOf(object, 'status', 'phase');
  if (phase === 'Bound') return current('it is bound');
  if (phase === 'Lost') return failed('its volume is lost', 0);
  const storageClass = textOf(object, 'spec', 'storageClassName') ?? '';
  const used = textOf(object, 'metadata', 'annotations', SELECTED_NODE) !== undefined;
  if (!used && lateBinding.has(storageClass)) {
    return current(`it waits for its first pod (storage class ${storageClass})`);
  }
  return inProgress(`it is not bound yet${storageClass === '' ? '' : ` (storage class ${storageClass})`}`);
};
