import type { FleetError } from '#bundles/errors';
import { checkAborted } from '../journal/boundary.ts';
import { nameOf } from '../journal/name-of.ts';
import type { Step, StepResult } from './target.ts';
import { type Tried, tryStep } from './try-step.ts';
import type { Work } from './work.ts';

/** Steps of one group under way at a time: enough to hide a server's answer time, few enough not to crowd it. */
const AT_ONCE = 16;

/** Where the steps that may run together with this one end. */
export const endOfGroup = (steps: readonly Step[], index: number): number => {
  const group = steps[index]?.group;
  if (group === undefined) return index + 1;
  const end = steps.findIndex((step, at) => at > index && step.group !== group);
  return end === -1 ? steps.length : end;
};

/**
 * Does steps that do not depend on each other. Results are kept in the plan's order, whichever was done first; a failure lets
 * those under way end, begins no others, and everything that was done is told with it.
 * @param first the number of the first step in the plan, from 0
 * @param keep takes results that may come to disk @returns those that may not before what failed does
 * @throws FleetError ABORTED, API_UNREACHABLE: what is not written down yet is done again
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
