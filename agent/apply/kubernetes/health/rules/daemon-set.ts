import { numberOf, textOf } from '../live-field.ts';
import { current, inProgress, type Verdict } from '../verdict.ts';
import { countOf, fewer, unseen } from './replicas.ts';

export const judgeDaemonSet = (object: unknown): Verdict => {
  const want = numberOf(object, 'status', 'desiredNumberScheduled');
  if (want === undefined) return inProgress('its controller has not counted its nodes yet');
  const onDelete = textOf(object, 'spec', 'updateStrategy', 'type') === 'OnDelete';
  return (
    unseen(object) ??
    fewer(countOf(object, 'currentNumberScheduled'), want, 'created') ??
    // With OnDelete, pods are replaced only after they are deleted by hand.
    (onDelete ? undefined : fewer(countOf(object, 'updatedNumberScheduled'), want, 'updated')) ??
    fewer(countOf(object, 'numberAvailable'), want, 'available') ??
    fewer(countOf(object, 'numberReady'), want, 'ready') ??
    current(`${want} of ${want} replicas ready`)
  );
};
