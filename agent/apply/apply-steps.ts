import { checkAborted, record } from '../store/journal/boundary.ts';
import { nameOf } from '../store/journal/name-of.ts';
import { saveOperation, saveSteps } from '../store/journal/operations.ts';
import { noteOwned } from '../store/applied/inventory.ts';
import { applyGroup, asIs, endOfGroup, tryStep } from './apply-group.ts';
import { causeOf, fail } from './fail.ts';
import type { Step, StepResult } from '../model/target.ts';
import type { Work } from './work.ts';

/** Results of grouped steps per transaction. After a crash at most these steps, and those under way, are repeated. */
const BATCH = 64;

/**
 * Executes the plan from the next step on. The result of a single step is on disk before the following step begins. Steps of
 * one group run concurrently and their results are stored in batches, so a target that groups steps must be able to repeat a
 * batch in order. If a step leaves an object that is still being deleted, later groups wait for the next operation.
 */
export const applySteps = async (work: Work): Promise<void> => {
  const { agent, operation, goal } = work;
  const steps = operation.plan?.steps ?? [];
  const waiting: StepResult[] = [];
  let written = operation.nextStep;
  const name = nameOf(operation);
  let index = operation.nextStep;
  const write = (): void => {
    const results = waiting.splice(0);
    noteOwned(agent.state, operation.assignment, results);
    written += results.length;
    saveSteps(agent.state, operation, written, results);
  };
  const save = (): void => {
    if (waiting.length === 0) return;
    const from = written + 1;
    const to = written + waiting.length;
    const point = from === to ? `step ${to}` : `steps ${from} to ${to}`;
    record(agent, `${name}: ${point} recorded`, write);
  };
  let held: StepResult | undefined;
  const keep = (results: readonly StepResult[]): void => {
    held ??= results.find(({ state }) => state?.leaving !== undefined);
    waiting.push(...results);
    if (waiting.length >= BATCH) save();
  };
  while (index < steps.length) {
    const step = steps[index] as Step;
    const end = endOfGroup(steps, index);
    checkAborted(agent.signal);
    if (step.group !== undefined) {
      const { rest, error } = await applyGroup(work, steps.slice(index, end), index, keep);
      index = end;
      if (!error) {
        keep(rest);
        if (!held) continue;
        // Objects of later groups may be needed to finish the deletion, such as the controller behind a finalizer.
        waiting.push(...steps.slice(index).map((later) => behind(later, held as StepResult)));
        break;
      }
      waiting.push(...rest);
      fail(work, error, write);
      return;
    }
    index += 1;
    if (step.outcome === 'unchanged') {
      waiting.push(asIs(step));
      continue;
    }
    const { result, error } = await tryStep(work, step);
    // Executed and not recorded yet: after a crash here, only this step is repeated.
    agent.onJournal(`${name}: step ${index} done`);
    waiting.push(result);
    if (error) {
      // In one transaction with the failure, because a recorded step is never repeated.
      fail(work, await causeOf(agent, error), write);
      return;
    }
    save();
  }
  record(agent, `${name}: applied`, () => {
    write();
    saveOperation(agent.state, { ...operation, nextStep: steps.length, phase: goal ? 'settle' : 'keep' });
  });
};

/** Result of a step that is skipped because an earlier one waits for a deletion. */
const behind = (step: Step, { key, state }: StepResult): StepResult => {
  if (step.outcome === 'unchanged') return asIs(step);
  const leaving = { since: state?.leaving?.since ?? '', message: '' };
  return { key: step.key, outcome: 'skipped', reason: `waits until ${key} is gone`, state: { leaving } };
};
