import { conditionOf, saidBy } from '../condition.ts';
import { listOf, numberOf, textOf } from '../live-field.ts';
import { failed, inProgress, type Verdict } from '../verdict.ts';

/** Rules for all kinds, applied before the rule of the kind; undefined if none matches. */
export const judgeAnyObject = (object: unknown): Verdict | undefined => {
  const deleted = textOf(object, 'metadata', 'deletionTimestamp');
  if (deleted !== undefined) return { status: 'Terminating', message: beingDeleted(object, deleted) };
  const generation = numberOf(object, 'metadata', 'generation');
  const observed = numberOf(object, 'status', 'observedGeneration');
  if (generation !== undefined && observed !== undefined && observed !== generation) {
    return inProgress(`its controller has seen generation ${observed} of ${generation}`);
  }
  const reconciling = conditionOf(object, 'Reconciling');
  if (reconciling?.status === 'True') return inProgress(saidBy(reconciling, 'it is being reconciled'));
  const stalled = conditionOf(object, 'Stalled');
  if (stalled?.status === 'True') return failed(saidBy(stalled, 'it is stalled'));
  return undefined;
};

/** Names the finalizers that hold the object (checklist X2). */
const beingDeleted = (object: unknown, since: string): string => {
  const finalizers = listOf(object, 'metadata', 'finalizers').filter((one) => typeof one === 'string');
  const held = finalizers.length > 0 ? `, held by ${finalizers.slice(0, 3).join(', ')}` : '';
  return `it is being deleted since ${since}${held}`;
};
