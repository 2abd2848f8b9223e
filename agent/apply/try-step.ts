import { FleetError, toFleetError } from '#bundles/errors';
import { checkAborted } from '../store/journal/boundary.ts';
import type { DesiredPackage, Step, StepResult } from '../model/target.ts';
import type { Work } from './work.ts';

/** Never aborted: a stop waits for the step under way rather than leave it half done. */
const UNINTERRUPTED = new AbortController().signal;

export type Tried = { readonly result: StepResult; readonly error?: FleetError };

export const asIs = ({ key, reason }: Step): StepResult => ({ key, outcome: 'unchanged', reason });

/** Executes one step; a failure is a result. @throws FleetError ABORTED, API_UNREACHABLE */
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
    // The machine is shutting down or the cluster is unreachable: the step is repeated later.
    if (error.code === 'ABORTED' || error.code === 'API_UNREACHABLE') throw error;
    return { result: { key: step.key, outcome: 'failed', reason: error.message }, error };
  }
};
