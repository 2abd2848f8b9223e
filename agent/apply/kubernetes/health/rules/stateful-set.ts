import { numberOf, textOf } from '../live-field.ts';
import { current, inProgress, type Verdict } from '../verdict.ts';
import { countOf, fewer, replicasOf, surplus, unseen } from './replicas.ts';

export const judgeStatefulSet = (object: unknown): Verdict => {
  if (textOf(object, 'spec', 'updateStrategy', 'type') === 'OnDelete') {
    return current('its pods are replaced only when they are deleted (OnDelete)');
  }
  const want = replicasOf(object);
  const short =
    unseen(object) ??
    fewer(countOf(object, 'replicas'), want, 'created') ??
    fewer(countOf(object, 'readyReplicas'), want, 'ready') ??
    surplus(countOf(object, 'replicas'), want);
  if (short) return short;
  const partition = numberOf(object, 'spec', 'updateStrategy', 'rollingUpdate', 'partition') ?? 0;
  if (partition > 0) {
    const wanted = Math.max(0, want - partition);
    return (
      fewer(countOf(object, 'updatedReplicas'), wanted, `updated (partition ${partition})`) ??
      current(`${want} of ${want} replicas ready, updated down to partition ${partition}`)
    );
  }
  const now = textOf(object, 'status', 'currentRevision');
  const next = textOf(object, 'status', 'updateRevision');
  if (now !== next) {
    return inProgress(`${countOf(object, 'updatedReplicas')} of ${want} replicas updated`);
  }
  return current(`${want} of ${want} replicas ready`);
};
