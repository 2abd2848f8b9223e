import { conditionOf, saidBy } from '../condition.ts';
import { current, failed, inProgress, type Verdict } from '../verdict.ts';
import { countOf, fewer, replicasOf, surplus, unseen } from './replicas.ts';

export const judgeDeployment = (object: unknown): Verdict => {
  const progressing = conditionOf(object, 'Progressing');
  if (progressing?.reason === 'ProgressDeadlineExceeded') {
    return failed(
      `${countOf(object, 'availableReplicas')} of ${replicasOf(object)} replicas available; ${saidBy(progressing, '')}`,
      0,
    );
  }
  const want = replicasOf(object);
  const updated = countOf(object, 'updatedReplicas');
  const short =
    unseen(object) ??
    fewer(countOf(object, 'replicas'), want, `created${whyNot(object)}`) ??
    fewer(updated, want, 'updated') ??
    surplus(countOf(object, 'replicas'), want) ??
    fewer(countOf(object, 'availableReplicas'), updated, 'available') ??
    fewer(countOf(object, 'readyReplicas'), want, 'ready');
  if (short) return short;
  if (progressing && progressing.reason !== 'NewReplicaSetAvailable') {
    return inProgress(`the new replica set is not available: ${saidBy(progressing, 'no reason given')}`);
  }
  const available = conditionOf(object, 'Available');
  if (available?.status !== 'True') {
    return inProgress(
      available ? `not available: ${saidBy(available, 'no reason given')}` : 'not available yet',
    );
  }
  return current(`${want} of ${want} replicas available`);
};

/** Reason why pods cannot be created: ': FailedCreate: exceeded quota'. */
const whyNot = (object: unknown): string => {
  const failure = conditionOf(object, 'ReplicaFailure');
  return failure?.status === 'True' ? `: ${saidBy(failure, 'its pods cannot be made')}` : '';
};
