import { formatCount } from '#bundles/format-count';
import { conditionOf, formatCause } from '../condition.ts';
import { current, failed, type HealthContext, inProgress, type Verdict } from '../verdict.ts';
import { fieldOf, numberOf, textOf } from '../live-field.ts';

/**
 * After a rollback the controller repeats that the deadline is exceeded, for the new generation, too, until it has removed a pod of the
 * failed one.
 */
const STALE_MS = 5000;

export const judgeDeployment = (object: unknown): Verdict => {
  // Nothing is meant to roll out, and the controller reports no progress.
  if (fieldOf(object, 'spec', 'paused') === true)
    return unseen(object) ?? current('its rollout is paused (spec.paused: true)');
  const progressing = conditionOf(object, 'Progressing');
  if (progressing?.reason === 'ProgressDeadlineExceeded') {
    return failed(
      `${countOf(object, 'availableReplicas')} of ${replicasOf(object)} replicas available; ${formatCause(progressing, '')}`,
      STALE_MS,
    );
  }
  const want = replicasOf(object);
  const updated = countOf(object, 'updatedReplicas');
  const short =
    unseen(object) ??
    fewer(countOf(object, 'replicas'), want, `created${describeCreateFailure(object)}`) ??
    fewer(updated, want, 'updated') ??
    surplus(countOf(object, 'replicas'), want) ??
    fewer(countOf(object, 'availableReplicas'), updated, 'available') ??
    fewer(countOf(object, 'readyReplicas'), want, 'ready');
  if (short) return short;
  if (progressing && progressing.reason !== 'NewReplicaSetAvailable') {
    return inProgress(`the new replica set is not available: ${formatCause(progressing, 'no reason given')}`);
  }
  const available = conditionOf(object, 'Available');
  if (available?.status !== 'True') {
    return inProgress(
      available ? `not available: ${formatCause(available, 'no reason given')}` : 'not available yet',
    );
  }
  return current(`${want} of ${want} replicas available`);
};

/** Reason why pods cannot be created: ': FailedCreate: exceeded quota'. */
const describeCreateFailure = (object: unknown): string => {
  const failure = conditionOf(object, 'ReplicaFailure');
  return failure?.status === 'True' ? `: ${formatCause(failure, 'its pods cannot be made')}` : '';
};

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

/** Rule for ReplicaSets and ReplicationControllers. */
export const judgeReplicaSet = (object: unknown): Verdict => {
  const want = replicasOf(object);
  const failure = conditionOf(object, 'ReplicaFailure');
  if (failure?.status === 'True') return inProgress(formatCause(failure, 'its pods cannot be made'));
  return (
    unseen(object) ??
    fewer(countOf(object, 'fullyLabeledReplicas'), want, 'labelled') ??
    fewer(countOf(object, 'availableReplicas'), want, 'available') ??
    fewer(countOf(object, 'readyReplicas'), want, 'ready') ??
    surplus(countOf(object, 'replicas'), want) ??
    current(`${want} of ${want} replicas ready`)
  );
};

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

/** Numbers of `status`. The API omits zeros, so an absent number is 0. */
const countOf = (object: unknown, field: string): number => numberOf(object, 'status', field) ?? 0;

/** `spec.replicas`, 1 by default. */
const replicasOf = (object: unknown): number => numberOf(object, 'spec', 'replicas') ?? 1;

/** Workload controllers always set observedGeneration; without it they have not processed the object yet. */
const unseen = (object: unknown): Verdict | undefined =>
  numberOf(object, 'status', 'observedGeneration') === undefined
    ? inProgress('its controller has not looked at it yet')
    : undefined;

/** '1 of 3 replicas available' if fewer than desired. */
const fewer = (have: number, want: number, what: string): Verdict | undefined =>
  have < want ? inProgress(`${have} of ${formatCount(want, 'replica')} ${what}`) : undefined;

const surplus = (have: number, want: number): Verdict | undefined =>
  have > want
    ? inProgress(`${have - want} old ${have - want === 1 ? 'pod is' : 'pods are'} still there`)
    : undefined;

/** A Job is healthy when complete, not when started, so a running migration blocks the packages that depend on it. */
export const judgeJob = (
  object: unknown,
  { maySuspend = true }: Pick<HealthContext, 'maySuspend'> = {},
): Verdict => {
  const end = conditionOf(object, 'Failed');
  if (end?.status === 'True') return failed(formatCause(end, 'it failed'), 0);
  if (conditionOf(object, 'Complete')?.status === 'True') return current('it is complete');
  if (conditionOf(object, 'Suspended')?.status === 'True' || fieldOf(object, 'spec', 'suspend') === true) {
    return maySuspend ? current('it is suspended') : inProgress('it is suspended, and not by its package');
  }
  if (textOf(object, 'status', 'startTime') === undefined) return inProgress('it has not started yet');
  const [active, gone] = [countOf(object, 'active'), countOf(object, 'failed')];
  const before = gone > 0 ? `, ${gone} failed before` : '';
  return inProgress(`it runs: ${formatCount(active, 'pod')} active${before}`);
};

/** Ignores the number of healthy pods, which the workload's own rule judges. */
export const judgeDisruptionBudget = (object: unknown): Verdict =>
  unseen(object) ?? current(`it allows ${countOf(object, 'disruptionsAllowed')} disruptions`);
