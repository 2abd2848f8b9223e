import { FleetError, toFleetError } from '#bundles/errors';
import { checkAborted, record } from '../journal/boundary.ts';
import { nameOf } from '../journal/name-of.ts';
import { saveOperation, saveSteps } from '../journal/operations.ts';
import { noteOwned } from '../store/inventory.ts';
import { applyGroup, endOfGroup } from './apply-group.ts';
import { fail } from './fail.ts';
import type { DesiredPackage, Step, StepResult } from './target.ts';
import type { Work } from './work.ts';

/** A stop lets the step under way end: half a step is worse than a second more. */
const UNINTERRUPTED = new AbortController().signal;

/**
 * Carries out the plan from the next step on; each result is on disk before the step after it begins. Steps of one group
 * run at the same time, and their results come to disk in batches.
 */
export const applySteps = async (work: Work): Promise<void> => {
  const { agent, operation, goal } = work;
  const steps = operation.plan?.steps ?? [];
  const waiting: StepResult[] = [];
  const name = nameOf(operation);
  let index = operation.nextStep;
  const save = (point: string, nextStep: number, results: readonly StepResult[]): void =>
    record(agent, `${name}: ${point} recorded`, () => {
      noteOwned(agent.state, operation.assignment, results);
      saveSteps(agent.state, operation, nextStep, [...waiting.splice(0), ...results]);
    });
  while (index < steps.length) {
    const step = steps[index] as Step;
    const end = endOfGroup(steps, index);
    checkAborted(agent.signal);
    if (end - index > 1) {
      const error = await applyGroup(work, steps.slice(index, end), index, tryStep, save);
      index = end;
      if (!error) continue;
      fail(work, error);
      return;
    }
    index += 1;
    if (step.outcome === 'unchanged') {
      waiting.push(asIs(step));
      continue;
    }
    const { result, error } = await tryStep(work, step);
    // Done but not yet written down: a crash here does this one step again, and only this one.
    agent.onJournal(`${name}: step ${index} done`);
    save(`step ${index}`, index, [result]);
    if (error) {
      fail(work, error);
      return;
    }
  }
  record(agent, `${name}: applied`, () => {
    saveSteps(agent.state, operation, steps.length, waiting);
    saveOperation(agent.state, { ...operation, nextStep: steps.length, phase: goal ? 'settle' : 'keep' });
  });
};

const asIs = ({ key, reason }: Step): StepResult => ({ key, outcome: 'unchanged', reason });

export type Tried = { readonly result: StepResult; readonly error?: FleetError };

const tryStep = async ({ agent, target, load }: Work, step: Step): Promise<Tried> => {
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
