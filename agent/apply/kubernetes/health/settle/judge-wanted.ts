import type { LiveObject } from '../../api/kubernetes-api.ts';
import { removesItself, type WantedObject } from '../../desired/wanted-object.ts';
import type { CustomHealth } from '../custom-health.ts';
import { conditionOf } from '../condition.ts';
import { isBuiltIn } from '../../desired/is-built-in.ts';
import { judge } from '../judge.ts';
import { fieldOf, numberOf } from '../live-field.ts';
import { current, failed, type HealthContext, inProgress, type Verdict } from '../verdict.ts';

/** Kinds whose controllers work at intervals, and the interval: a status after a change does not come earlier. */
const PERIODS_MS: ReadonlyMap<string, number> = new Map([['autoscaling/HorizontalPodAutoscaler', 20_000]]);

/** How long a status without a generation may still describe the object before its change. */
export const windowOf = ({ group, kind }: WantedObject, windowMs: number): number =>
  Math.max(windowMs, PERIODS_MS.get(`${group}/${kind}`) ?? 0);

/**
 * True if the status may describe the object before its change. False if the status names its generation, or if the object was written
 * since, most likely by its controller. Built-in kinds have observedGeneration or need no controller.
 */
const mayBeOutdated = (
  { group, kind, statusIsField }: WantedObject,
  live: LiveObject,
  changedTo: string | undefined,
): boolean =>
  changedTo !== undefined &&
  changedTo === live.metadata.resourceVersion &&
  (PERIODS_MS.has(`${group}/${kind}`) || !isBuiltIn(group)) &&
  (statusIsField === true || !namesGeneration(live));

const namesGeneration = (live: LiveObject): boolean =>
  numberOf(live, 'metadata', 'generation') !== undefined &&
  (numberOf(live, 'status', 'observedGeneration') ?? conditionOf(live, 'Ready')?.observedGeneration) !==
    undefined;

type WantedContext = HealthContext & {
  readonly customHealth?: CustomHealth;
  /** The last state of an object that is gone, where it is known. */
  readonly last?: LiveObject | undefined;
};

/** @param settled true after the time in which an empty or old status may mean that no controller has processed the object */
export const judgeWanted = (
  wanted: WantedObject,
  live: LiveObject | undefined,
  context: WantedContext,
  settled: boolean,
  changedTo?: string,
): Verdict => {
  if (!live) return judgeMissing(wanted, context);
  const verdict = judgeAs(wanted, live, context);
  if (verdict.status !== 'Current' || settled) return verdict;
  if (mayBeOutdated(wanted, live, changedTo))
    return inProgress('its status may be that from before the change');
  return verdict.proven ? verdict : inProgress('its status says nothing yet');
};

const judgeAs = (wanted: WantedObject, live: LiveObject, context: WantedContext): Verdict => {
  const { apiVersion, kind, statusIsField = false, policy } = wanted;
  const custom = context.customHealth?.(policy.health);
  const maySuspend = fieldOf(wanted.object, 'spec', 'suspend') === true;
  return judge({ ...live, apiVersion, kind }, { ...context, statusIsField, custom, maySuspend });
};

/**
 * A missing hook, or Job with ttlSecondsAfterFinished, was complete, unless its last state is known and says otherwise; any other missing
 * object was deleted.
 */
const judgeMissing = (wanted: WantedObject, context: WantedContext): Verdict => {
  const { last } = context;
  if (!removesItself(wanted)) return failed('it is not there any more');
  if (!last) return current('it completed and was removed since');
  const { deletionTimestamp: _, ...metadata } = last.metadata;
  const ended = judgeAs(wanted, { ...last, metadata }, context);
  if (ended.status === 'Current') return current('it completed and was removed since');
  return failed(
    ended.status === 'Failed' ? ended.message : `it was removed before it was complete: ${ended.message}`,
    0,
  );
};
