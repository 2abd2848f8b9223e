import { checkAborted, record } from '../journal/boundary.ts';
import { nameOf } from '../journal/name-of.ts';
import { saveOperation, saveSteps } from '../journal/operations.ts';
import { noteOwned } from '../store/inventory.ts';
import { applyGroup, endOfGroup } from './apply-group.ts';
import { fail } from './fail.ts';
import type { Step, StepResult } from './target.ts';
import { asIs, tryStep } from './try-step.ts';
import type { Work } from './work.ts';

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
      const error = await applyGroup(work, steps.slice(index, end), index, save);
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
