import { conditionOf, saidBy } from '../condition.ts';
import { current, inProgress, type Verdict } from '../verdict.ts';
import { countOf, fewer, replicasOf, surplus, unseen } from './replicas.ts';

/** Rule for ReplicaSets and ReplicationControllers. */
export const judgeReplicaSet = (object: unknown): Verdict => {
  const want = replicasOf(object);
  const failure = conditionOf(object, 'ReplicaFailure');
  if (failure?.status === 'True') return inProgress(saidBy(failure, 'its pods cannot be made'));
  return (
    unseen(object) ??
    fewer(countOf(object, 'fullyLabeledReplicas'), want, 'labelled') ??
    fewer(countOf(object, 'availableReplicas'), want, 'available') ??
    fewer(countOf(object, 'readyReplicas'), want, 'ready') ??
    surplus(countOf(object, 'replicas'), want) ??
    current(`${want} of ${want} replicas ready`)
  );
};
