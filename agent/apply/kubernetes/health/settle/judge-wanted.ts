import type { LiveObject } from '../../api/kubernetes-api.ts';
import type { WantedObject } from '../../desired/wanted-object.ts';
import { conditionOf } from '../condition.ts';
import { isBuiltIn, judge } from '../judge.ts';
import { fieldOf, numberOf } from '../live-field.ts';
import { current, failed, type HealthContext, inProgress, type Verdict } from '../verdict.ts';

/** Controllers that look at their objects by the clock alone: a verdict on what was changed comes no sooner. */
const PERIODS_MS: ReadonlyMap<string, number> = new Map([['autoscaling/HorizontalPodAutoscaler', 20_000]]);

/** How long a status may still be that of the object before its change, where nothing in it says of which it speaks. */
export const windowOf = ({ group, kind }: WantedObject, windowMs: number): number =>
  Math.max(windowMs, PERIODS_MS.get(`${group}/${kind}`) ?? 0);

/**
 * Can the status be about the object before its change? A status that names its generation is not; nor is one of an object that
 * somebody, its controller most likely, wrote to since. Built-in kinds say which generation they saw, or need no controller.
 */
export const mayBeOld = (
  { group, kind }: WantedObject,
  live: LiveObject,
  changedTo: string | undefined,
): boolean =>
  changedTo !== undefined &&
  changedTo === live.metadata.resourceVersion &&
  (PERIODS_MS.has(`${group}/${kind}`) || !isBuiltIn(group)) &&
  !namesGeneration(live);

const namesGeneration = (live: LiveObject): boolean =>
  numberOf(live, 'metadata', 'generation') !== undefined &&
  (numberOf(live, 'status', 'observedGeneration') ?? conditionOf(live, 'Ready')?.observedGeneration) !==
    undefined;

/** @param settled the window is over in which a status that says nothing, or is old, may be one that nobody looked at */
export const judgeWanted = (
  wanted: WantedObject,
  live: LiveObject | undefined,
  context: HealthContext,
  settled: boolean,
  changedTo?: string,
): Verdict => {
  if (!live) return judgeMissing(wanted);
  const verdict = judge({ ...live, apiVersion: wanted.apiVersion, kind: wanted.kind }, context);
  if (verdict.status !== 'Current' || settled) return verdict;
  if (mayBeOld(wanted, live, changedTo)) return inProgress('its status may be that from before the change');
  return verdict.proven ? verdict : inProgress('its status says nothing yet');
};

/** A Job that removes itself when it is done was done; anything else was there a moment ago. */
const judgeMissing = ({ group, kind, object }: WantedObject): Verdict =>
  group === 'batch' && kind === 'Job' && fieldOf(object, 'spec', 'ttlSecondsAfterFinished') !== undefined
    ? current('it is done and has removed itself')
    : failed('it is not there any more');
