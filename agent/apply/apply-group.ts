import { FleetError, toFleetError } from '#bundles/errors';
import { checkAborted } from '../store/journal/boundary.ts';
import { nameOf } from '../store/journal/name-of.ts';
import { sentenceOf } from '../store/outbox/sentence-of.ts';
import type { Step, StepResult, DesiredPackage } from '../model/target.ts';
import type { Operation } from '../store/journal/operations.ts';
import { isTransient } from './is-transient.ts';
import { checkNewRelease, untilNewRelease } from './until-new-release.ts';
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

export type GroupEnd = {
  /** Results that are not stored yet, in plan order; to be stored together with the failure or the steps put off, if any. */
  readonly rest: readonly StepResult[];
  /** The first failure that ends the operation. */
  readonly error: FleetError | undefined;
  /** Steps to try again after all others of the plan, and the first reason. */
  readonly putOff: readonly Step[];
  readonly cause: FleetError | undefined;
};

/**
 * Runs independent steps concurrently. Results are passed on in plan order, whichever step ends first. After a failure, steps
 * under way finish, no further ones begin, and the results so far are returned with the error.
 * @param first index of the first step in the plan @param keep receives results that may be stored now
 * @throws FleetError ABORTED, API_UNREACHABLE; steps whose results are not stored yet are repeated later
 */
export const applyGroup = async (
  work: Work,
  steps: readonly Step[],
  first: number,
  keep: (results: readonly StepResult[]) => void,
): Promise<GroupEnd> => {
  const { agent, operation } = work;
  const name = nameOf(operation);
  const tried: (StepAttempt | undefined)[] = [];
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
      stopped ||= isFailure(tried[index]);
      // The plan is stored without the steps that are put off, in one transaction with the results of those behind them.
      while (tried[whole]?.result !== undefined) whole += 1;
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
  const isPutOff = (one: StepAttempt | undefined): boolean => one !== undefined && one.result === undefined;
  return {
    rest: resultsOf(tried.slice(kept)),
    error: tried.find(isFailure)?.error,
    putOff: steps.filter((_, index) => isPutOff(tried[index])),
    cause: tried.find(isPutOff)?.error,
  };
};

const isFailure = (one: StepAttempt | undefined): boolean =>
  one?.result !== undefined && one.error !== undefined;

const resultsOf = (tried: readonly (StepAttempt | undefined)[]): readonly StepResult[] =>
  tried.flatMap((one) => one?.result ?? []);

/** Never aborted: a stop waits for the step under way rather than leave it half done. */
const UNINTERRUPTED = new AbortController().signal;

/** `result` without `error`: done. Both: failed. `error` alone: to be tried again after the other steps. */
export type StepAttempt = { readonly result?: StepResult; readonly error?: FleetError };

export const unchangedResult = ({ key, reason }: Step): StepResult => ({ key, outcome: 'unchanged', reason });

/** Executes one step; a failure is a result. @throws FleetError ABORTED, API_UNREACHABLE */
export const tryStep = async (
  { agent, target, load, operation, neededBy }: Work,
  step: Step,
): Promise<StepAttempt> => {
  if (step.outcome === 'unchanged') return { result: unchangedResult(step) };
  const needing = step.removal && neededBy?.get(step.key);
  if (needing) return { result: needed(step, needing, operation) };
  try {
    const desired: DesiredPackage | undefined = await load();
    const result = await target.execute(
      step,
      desired,
      step.isBarrier ? untilNewRelease(agent) : UNINTERRUPTED,
    );
    if (result.outcome !== 'failed') return { result };
    return { result, error: new FleetError('APPLY_FAILED', result.reason, { subject: step.key }) };
  } catch (cause) {
    checkAborted(agent.signal);
    if (step.isBarrier) checkNewRelease(agent);
    const error = toFleetError(cause, step.key);
    // The machine is shutting down or the cluster is unreachable: the step is repeated later.
    if (error.code === 'ABORTED' || error.code === 'API_UNREACHABLE') throw error;
    if (step.removal) return { result: notRemoved(step, error) };
    if (step.mayWait && target.retryMs !== undefined && isTransient(error)) return { error };
    return { result: { key: step.key, outcome: 'failed', reason: error.message }, error };
  }
};

/** While the release is applied, a wait for its other packages is no news: only a removal that still waits after it is reported. */
const needed = ({ key }: Step, by: string, { kind }: Operation): StepResult => {
  const reason = `${key} is removed when ${by} runs as desired: its running version still uses it`;
  const message = kind === 'prune' ? reason : '';
  return { key, outcome: 'skipped', reason, state: { leaving: { since: '', message } } };
};

/** The object stays in the inventory, and the next look at what is being deleted tries again. */
const notRemoved = ({ key }: Step, error: FleetError): StepResult => {
  const message = `${sentenceOf(error)}; the agent tries again with growing pauses`;
  return { key, outcome: 'skipped', reason: message, state: { leaving: { since: '', message } } };
};
