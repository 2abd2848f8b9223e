import { toFleetError } from '#bundles/errors';
import type { DesiredPackage, StepResult, Target } from '../model/target.ts';
import { noteOwned } from '../store/applied/inventory.ts';
import { checkAborted, record } from '../store/journal/boundary.ts';
import { nameOf } from '../store/journal/name-of.ts';
import { type Operation, saveOperation, saveSteps } from '../store/journal/operations.ts';
import { sentenceOf } from '../store/outbox/sentence-of.ts';
import { AGAIN } from './stage-again.ts';
import { untilNewRelease } from './until-new-release.ts';
import type { Work } from './work.ts';

/** Key of the result that says why hooks did not run. */
const HOOKS = 'hooks';
/** Kind of the steps that stand for results of hooks. They are recorded as done, so nothing executes them. */
const NOTED = 'hook';

/**
 * Runs the hooks of the package whose try failed, before the way back is planned, and deletes those that should go then. Each runs once
 * for a try, also if the agent is killed meanwhile. What goes wrong with them is recorded and prevents nothing.
 * @returns the operation with their results @throws FleetError ABORTED, API_UNREACHABLE: the operation stays open
 */
export const runFailureHooks = async (work: Work): Promise<Operation> => {
  const { target, operation } = work;
  const { id, kind, rollingBack, startedAt, to } = operation;
  const isTry = rollingBack && to !== undefined && (kind === 'apply' || kind === 'restore');
  const { afterFailure, endFailure } = target;
  const isDone = operation.plan?.steps.some((step) => step.kind === AGAIN) === true;
  if (!isTry || isDone || !afterFailure || !endFailure) return operation;
  // A plan is there if their results were recorded before a kill.
  const isRecorded = operation.plan !== undefined;
  const ran = isRecorded
    ? operation
    : note(
        work,
        operation,
        await attempt(work, (tried, signal) => afterFailure(tried, `${startedAt}/${id}`, signal)),
      );
  return note(work, ran, await attempt(work, (tried, signal) => leftBy(endFailure, tried, signal)));
};

const leftBy = async (
  endFailure: NonNullable<Target['endFailure']>,
  tried: DesiredPackage,
  signal: AbortSignal,
): Promise<readonly StepResult[]> =>
  (await endFailure(tried, signal)).map(({ name, message }) => ({
    key: name,
    outcome: 'skipped',
    reason: message,
  }));

/** Does a part of it with the package that was tried. A newer release ends the wait for its hooks. @throws FleetError ABORTED, API_UNREACHABLE */
const attempt = async (
  { agent, loadTried }: Work,
  part: (tried: DesiredPackage, signal: AbortSignal) => Promise<readonly StepResult[]>,
): Promise<readonly StepResult[]> => {
  try {
    const tried = await loadTried();
    return tried ? await part(tried, untilNewRelease(agent)) : [];
  } catch (cause) {
    checkAborted(agent.signal);
    if (agent.news?.aborted)
      return [{ key: HOOKS, outcome: 'skipped', reason: 'a newer release came before they were complete' }];
    const error = toFleetError(cause);
    if (error.code === 'ABORTED' || error.code === 'API_UNREACHABLE') throw error;
    return [{ key: HOOKS, outcome: 'failed', reason: `they did not run: ${sentenceOf(error)}` }];
  }
};

/** Records results as steps that are done; those of the way back follow them. */
const note = ({ agent }: Work, operation: Operation, results: readonly StepResult[]): Operation => {
  if (results.length === 0) return operation;
  const { plan, nextStep, assignment } = operation;
  const steps = results.map(({ key, outcome, reason }) => ({
    key,
    outcome,
    reason,
    kind: NOTED,
    detail: {},
  }));
  const noted: Operation = {
    ...operation,
    plan: { owns: [], ...plan, steps: [...(plan?.steps ?? []), ...steps] },
    nextStep: nextStep + results.length,
  };
  record(agent, `${nameOf(operation)}: hooks of the failure recorded`, () => {
    noteOwned(agent.state, assignment, results);
    saveSteps(agent.state, operation, noted.nextStep, results);
    saveOperation(agent.state, noted);
  });
  return noted;
};
