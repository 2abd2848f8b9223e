import { FleetError, toFleetError } from '#bundles/errors';
import { checkAborted } from '../store/journal/boundary.ts';
import { nameOf } from '../store/journal/name-of.ts';
import type { Step, StepResult, DesiredPackage } from '../model/target.ts';
import type { Work } from './work.ts';

/** Concurrent steps of one group: enough to hide the latency of a server without overloading it. */
const AT_ONCE = 16;

/** Index after the last step that may run together with the step at `index`. */
export const endOfGroup = (steps: readonly Step[], index: number): number => {
  const group = steps[index]?.group;
  if (group === undefined) return index + 1;
  const end = steps.findIndex((step, at) => at > index && step.group !== group);
  return end === -1 ? steps.length : end;
};

/**
 * Runs independent steps concurrently. Results are passed on in plan order, whichever step ends first. After a failure, steps
 * under way finish, no further ones begin, and the results so far are returned with the error.
 * @param first index of the first step in the plan @param keep receives results that may be stored now
 * @returns results that must be stored together with the failure, if any
 * @throws FleetError ABORTED, API_UNREACHABLE; steps whose results are not stored yet are repeated later
 */
export const applyGroup = async (
  work: Work,
  steps: readonly Step[],
  first: number,
  keep: (results: readonly StepResult[]) => void,
): Promise<{ readonly rest: readonly StepResult[]; readonly error: FleetError | undefined }> => {
  const { agent, operation } = work;
  const name = nameOf(operation);
  const tried: (Tried | undefined)[] = [];
  let next = 0;
  let kept = 0;
  let whole = 0;
  let stopped = false;
  const worker = async (): Promise<void> => {
    while (next < steps.length && !stopped) {
      const index = next++;
      try {
        checkAborted(agent.signal);
        const step = steps[index] as Step;
        tried[index] = await tryStep(work, step);
        if (step.outcome !== 'unchanged' && !stopped)
          agent.onJournal(`${name}: step ${first + index + 1} done`);
      } catch (error) {
        stopped = true;
        throw error;
      }
      stopped ||= tried[index]?.error !== undefined;
      while (tried[whole] !== undefined) whole += 1;
      if (!stopped && whole > kept) {
        const results = resultsOf(tried.slice(kept, whole));
        kept = whole;
        keep(results);
      }
    }
  };
  const ends = await Promise.allSettled(Array.from({ length: Math.min(AT_ONCE, steps.length) }, worker));
  const broken = ends.find((end) => end.status === 'rejected');
  if (broken) throw broken.reason;
  return {
    rest: resultsOf(tried.slice(kept)),
    error: tried.find((one) => one?.error !== undefined)?.error,
  };
};

const resultsOf = (tried: readonly (Tried | undefined)[]): readonly StepResult[] =>
  tried.flatMap((one) => one?.result ?? []);

/** Never aborted: a stop waits for the step under way rather than leave it half done. */
const UNINTERRUPTED = new AbortController().signal;

type Tried = { readonly result: StepResult; readonly error?: FleetError };

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
