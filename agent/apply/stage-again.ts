import { FleetError, toFleetError } from '#bundles/errors';
import { nameSome } from '#bundles/name-some';
import { checkAborted, record } from '../store/journal/boundary.ts';
import { nameOf } from '../store/journal/name-of.ts';
import { readResults, saveOperation, saveSteps } from '../store/journal/operations.ts';
import { checkNewRelease, untilNewRelease } from './until-new-release.ts';
import type { StepResult } from '../model/target.ts';
import type { Work } from './work.ts';

/** Key and kind of the step that says which objects are applied again, and why. */
export const AGAIN = 'again';
/** How often an operation applies again what was deleted, before it fails: something may delete it each time. */
const MAX_AGAIN = 3;
/** Objects that the reason names. */
const MAX_NAMED = 3;

/**
 * Plans an update, or the way back, again whose wait failed, if somebody deleted objects that it had applied. Its results stay, and the steps
 * of the new plan follow those that are done. @param index of the next step
 * @returns the error with which the operation fails; undefined if it was planned again
 * @throws FleetError ABORTED, API_UNREACHABLE
 */
export const stageAgain = async (
  work: Work,
  index: number,
  failed: FleetError,
): Promise<FleetError | undefined> => {
  const { agent, operation } = work;
  const results = readResults(agent.state, operation);
  const gone = failed.code === 'CHECK_FAILED' ? await findGone(work, results) : [];
  if (gone.length === 0) return failed;
  const names = nameSome(gone, MAX_NAMED);
  if (results.filter(({ key }) => key === AGAIN).length === MAX_AGAIN) {
    const message = `${failed.message}; deleted ${MAX_AGAIN + 1} times while the agent waited: ${names}`;
    return new FleetError(failed.code, message);
  }
  const reason = `${names} ${gone.length === 1 ? 'was' : 'were'} deleted meanwhile`;
  const result = { key: AGAIN, outcome: 'skipped', reason } as const;
  const done = operation.plan?.steps.slice(0, index) ?? [];
  record(agent, `${nameOf(operation)}: planned again`, () => {
    saveSteps(agent.state, operation, index + 1, [result]);
    saveOperation(agent.state, {
      ...operation,
      phase: 'stage',
      plan: { owns: [], ...operation.plan, steps: [...done, { ...result, kind: AGAIN, detail: {} }] },
      nextStep: index + 1,
    });
  });
  return undefined;
};

/**
 * Keys of objects that the operation applied in its direction and that are not there any more. After any error but API_UNREACHABLE, with
 * which the operation stays open until the cluster answers, it returns none: the failure of the wait says more. @throws FleetError ABORTED, API_UNREACHABLE
 */
const findGone = async (
  { agent, target, operation, load }: Work,
  results: readonly StepResult[],
): Promise<readonly string[]> => {
  const { kind } = operation;
  if (!target.gone || (kind !== 'apply' && kind !== 'restore')) return [];
  try {
    const desired = await load();
    const applied = results.map(({ key }) => key);
    return desired ? await target.gone(desired, applied, untilNewRelease(agent)) : [];
  } catch (cause) {
    checkAborted(agent.signal);
    checkNewRelease(agent);
    const error = toFleetError(cause);
    if (error.code === 'API_UNREACHABLE') throw error;
    return [];
  }
};
