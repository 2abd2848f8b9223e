import { checkAborted, record } from '../journal/boundary.ts';
import { nameOf } from '../journal/name-of.ts';
import { saveOperation, saveSteps } from '../journal/operations.ts';
import { noteOwned } from '../store/inventory.ts';
import { applyGroup, endOfGroup } from './apply-group.ts';
import { fail } from './fail.ts';
import type { Step, StepResult } from './target.ts';
import { asIs, tryStep } from './try-step.ts';
import type { Work } from './work.ts';

/** Results of groups that one transaction brings to disk; a crash does at most these, and those under way, again. */
const BATCH = 64;

/**
 * Carries out the plan from the next step on; each result is on disk before the step after it begins. Steps of one group
 * run at the same time, and the results of groups come to disk in batches: a target that groups its steps can do a batch again,
 * in order, as if it had not been done. Where a step leaves something that is still being deleted, the groups behind it wait
 * for the next operation.
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
        // What goes last may be what lets the others go: a controller whose objects have its finalizer.
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
    // Done but not yet written down: a crash here does this one step again, and only this one.
    agent.onJournal(`${name}: step ${index} done`);
    waiting.push(result);
    if (error) {
      // At once with what it means: a step that is written down is never done again.
      fail(work, error, write);
      return;
    }
    save();
  }
  record(agent, `${name}: applied`, () => {
    write();
    saveOperation(agent.state, { ...operation, nextStep: steps.length, phase: goal ? 'settle' : 'keep' });
  });
};

/** A step that is not done as one before it waits. */
const behind = (step: Step, { key, state }: StepResult): StepResult => {
  if (step.outcome === 'unchanged') return asIs(step);
  const leaving = { since: state?.leaving?.since ?? '', message: '' };
  return { key: step.key, outcome: 'skipped', reason: `waits until ${key} is gone`, state: { leaving } };
};
