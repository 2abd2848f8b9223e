import { FleetError, toFleetError } from '#bundles/errors';
import { checkAborted } from '../journal/boundary.ts';
import type { DesiredPackage, Step, StepResult } from './target.ts';
import type { Work } from './work.ts';

/** A stop lets the step under way end: half a step is worse than a second more. */
const UNINTERRUPTED = new AbortController().signal;

export type Tried = { readonly result: StepResult; readonly error?: FleetError };

export const asIs = ({ key, reason }: Step): StepResult => ({ key, outcome: 'unchanged', reason });

/** Does one step; a failure is a result. @throws FleetError ABORTED, API_UNREACHABLE */
export const tryStep = async ({ agent, target, load }: Work, step: Step): Promise<Tried> => {
  if (step.outcome === 'unchanged') return { result: asIs(step) };
  try {
    const desired: DesiredPackage | undefined = await load();
    const result = await target.execute(step, desired, UNINTERRUPTED);
    if (result.outcome !== 'failed') return { result };
    return { result, error: new FleetError('APPLY_FAILED', result.reason, { subject: step.key }) };
  } catch (cause) {
    checkAborted(agent.signal);
    const error = toFleetError(cause, step.key);
    // The machine is going down, or the cluster is away: the step is done again after the next start.
    if (error.code === 'ABORTED' || error.code === 'API_UNREACHABLE') throw error;
    return { result: { key: step.key, outcome: 'failed', reason: error.message }, error };
  }
};
