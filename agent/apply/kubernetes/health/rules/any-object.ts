import { type Condition, conditionOf, formatCause } from '../condition.ts';
import { fieldOf, listOf, numberOf, textOf } from '../live-field.ts';
import { current, failed, type HealthContext, inProgress, type Verdict } from '../verdict.ts';

/** Rules for all kinds, applied before the rule of the kind; undefined if none matches. */
export const judgeAnyObject = (
  object: unknown,
  { statusIsField = false }: Pick<HealthContext, 'statusIsField'>,
): Verdict | undefined => {
  const behind = judgeBehind(object, { statusIsField });
  if (behind) return behind;
  const reconciling = conditionOf(object, 'Reconciling');
  if (reconciling?.status === 'True') return inProgress(formatCause(reconciling, 'it is being reconciled'));
  const stalled = conditionOf(object, 'Stalled');
  return stalled?.status === 'True' ? failed(describeStalled(object, stalled)) : undefined;
};

/** With the cause of Ready where it has another: Flux's HelmRelease says why a release failed only there. */
const describeStalled = (object: unknown, stalled: Condition): string => {
  const cause = formatCause(stalled, 'it is stalled');
  const ready = conditionOf(object, 'Ready');
  if (ready?.status !== 'False' || ready.message === '' || ready.message === stalled.message) return cause;
  return `${cause}; Ready: ${formatCause(ready, '')}`;
};

/** An object that is being deleted, or whose status is about an older generation; undefined for any other. */
export const judgeBehind = (
  object: unknown,
  { statusIsField = false }: Pick<HealthContext, 'statusIsField'>,
): Verdict | undefined => {
  const deleted = textOf(object, 'metadata', 'deletionTimestamp');
  if (deleted !== undefined) return { status: 'Terminating', message: describeTerminating(object, deleted) };
  const generation = statusIsField ? undefined : numberOf(object, 'metadata', 'generation');
  const observed = numberOf(object, 'status', 'observedGeneration');
  if (generation !== undefined && observed !== undefined && observed !== generation) {
    return inProgress(`its controller has seen generation ${observed} of ${generation}`);
  }
  return undefined;
};

/** Names the finalizers that hold the object (checklist X2). */
const describeTerminating = (object: unknown, since: string): string => {
  const finalizers = listOf(object, 'metadata', 'finalizers').filter((one) => typeof one === 'string');
  const held = finalizers.length > 0 ? `, held by ${finalizers.slice(0, 3).join(', ')}` : '';
  return `it is being deleted since ${since}${held}`;
};

/** Fields by which authors of custom resources stop their controller: Flux, Argo Rollouts, Cluster API and others. */
const PAUSES = ['suspend', 'suspended', 'paused', 'pause'];
/** `crossplane.io/paused`, `cluster.x-k8s.io/paused`, `strimzi.io/pause-reconciliation` and others. */
const PAUSE_ANNOTATION = /(?:^|\/)(?:paused|pause-reconciliation)$/;

/**
 * The field or annotation by which the author of a custom resource has stopped its controller, as a message names it; undefined without
 * one. Argo CD calls such an object Suspended: its status does not follow until the author resumes it.
 */
export const pausedBy = (object: unknown): string | undefined => {
  const field = PAUSES.find((name) => fieldOf(object, 'spec', name) === true);
  if (field !== undefined) return `spec.${field}: true`;
  const annotations = fieldOf(object, 'metadata', 'annotations') ?? {};
  const annotation = Object.keys(annotations).find(
    (name) => PAUSE_ANNOTATION.test(name) && /^(?:true|)$/.test(textOf(annotations, name) ?? 'false'),
  );
  return annotation === undefined ? undefined : `annotation ${annotation}`;
};

/**
 * Judges unknown kinds by their Ready condition. Without one they are Current, and `proven` says whether a controller has written a
 * status at all (checklist W3).
 */
export const judgeByReady = (
  object: unknown,
  { statusIsField = false }: Pick<HealthContext, 'statusIsField'>,
): Verdict => {
  const ready = conditionOf(object, 'Ready');
  const generation = statusIsField ? undefined : numberOf(object, 'metadata', 'generation');
  if (ready?.observedGeneration !== undefined && generation !== undefined) {
    const seen = ready.observedGeneration;
    if (seen < generation) return inProgress(`Ready speaks of generation ${seen} of ${generation}`);
  }
  if (ready?.status === 'True') return current(formatCause(ready, 'it is ready'));
  if (ready) return inProgress(`not ready: ${formatCause(ready, `Ready is ${ready.status}`)}`);
  const spoken =
    listOf(object, 'status', 'conditions').length > 0 ||
    numberOf(object, 'status', 'observedGeneration') !== undefined;
  if (spoken) return current('its controller has seen it');
  return { status: 'Current', message: 'its status says nothing', proven: false };
};
