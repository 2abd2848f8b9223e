import { FleetError, toFleetError } from '#bundles/errors';
import { checkAborted, record } from '../journal/boundary.ts';
import { nameOf } from '../journal/name-of.ts';
import { saveOperation, saveSteps } from '../journal/operations.ts';
import { fail } from './fail.ts';
import type { DesiredPackage, Step, StepResult } from './target.ts';
import type { Work } from './work.ts';

/** A stop lets the step under way end: half a step is worse than a second more. */
const UNINTERRUPTED = new AbortController().signal;

/** Carries out the plan from the next step on; each result is on disk before the step after it begins. */
export const applySteps = async (work: Work): Promise<void> => {
  const { agent, operation, goal } = work;
  const steps = operation.plan?.steps ?? [];
  const waiting: StepResult[] = [];
  const name = nameOf(operation);
  for (let index = operation.nextStep; index < steps.length; index++) {
    const step = steps[index] as Step;
    if (step.outcome === 'unchanged') {
      waiting.push({ key: step.key, outcome: 'unchanged', reason: step.reason });
      continue;
    }
    checkAborted(agent.signal);
    const { result, error } = await tryStep(work, step);
    // Done but not yet written down: a crash here does this one step again, and only this one.
    agent.onJournal(`${name}: step ${index + 1} done`);
    record(agent, `${name}: step ${index + 1} recorded`, () =>
      saveSteps(agent.state, operation, index + 1, [...waiting.splice(0), result]),
    );
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

const tryStep = async (
  { agent, target, load }: Work,
  step: Step,
): Promise<{ readonly result: StepResult; readonly error?: FleetError }> => {
  try {
    const desired: DesiredPackage | undefined = await load();
    const result = await target.execute(step, desired, UNINTERRUPTED);
    if (result.outcome !== 'failed') return { result };
    return { result, error: new FleetError('APPLY_FAILED', result.reason, { subject: step.key }) };
  } catch (cause) {
    checkAborted(agent.signal);
    const error = toFleetError(cause, step.key);
    // The machine is going down: the step is done again after the next start.
    if (error.code === 'ABORTED') throw error;
    return { result: { key: step.key, outcome: 'failed', reason: error.message }, error };
  }
};
