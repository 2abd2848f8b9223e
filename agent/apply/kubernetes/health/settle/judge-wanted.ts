import type { LiveObject } from '../../api/kubernetes-api.ts';
import type { WantedObject } from '../../desired/wanted-object.ts';
import { judge } from '../judge.ts';
import { fieldOf } from '../live-field.ts';
import { current, failed, type HealthContext, inProgress, type Verdict } from '../verdict.ts';

/** @param settled the window is over in which an object that says nothing may be one that nobody looked at */
export const judgeWanted = (
  wanted: WantedObject,
  live: LiveObject | undefined,
  context: HealthContext,
  settled: boolean,
): Verdict => {
  if (!live) return judgeMissing(wanted);
  const verdict = judge({ ...live, apiVersion: wanted.apiVersion, kind: wanted.kind }, context);
  if (verdict.status !== 'Current' || verdict.proven || settled) return verdict;
  return inProgress('its status says nothing yet');
};

/** A Job that removes itself when it is done was done; anything else was there a moment ago. */
const judgeMissing = ({ group, kind, object }: WantedObject): Verdict =>
  group === 'batch' && kind === 'Job' && fieldOf(object, 'spec', 'ttlSecondsAfterFinished') !== undefined
    ? current('it is done and has removed itself')
    : failed('it is not there any more');
