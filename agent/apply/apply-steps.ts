import { setTimeout as sleep } from 'node:timers/promises';
import { defined } from '#bundles/defined';
import { pauseMs, type RetryPolicy } from '#bundles/retry';
import { checkAborted, record } from '../store/journal/boundary.ts';
import { nameOf } from '../store/journal/name-of.ts';
import { type Operation, saveOperation, saveSteps } from '../store/journal/operations.ts';
import { noteOwned } from '../store/applied/inventory.ts';
import { applyGroup, unchangedResult, endOfGroup, type StepAttempt, tryStep } from './apply-group.ts';
import { causeOf, fail } from './fail.ts';
import { readNeededBy } from './needed-by.ts';
import { checkNewRelease, untilNewRelease } from './until-new-release.ts';
import { stageAgain } from './stage-again.ts';
import { isSuperseded, supersede } from './supersede.ts';
import type { Step, StepResult } from '../model/target.ts';
import type { Work } from './work.ts';

/** Results of grouped steps per transaction. After a crash at most these steps, and those under way, are repeated. */
const BATCH = 64;

/** The group of steps that were put off, behind all others that apply something. */
const PUT_OFF = -1;
/** Pauses between tries of the steps that were put off. */
const PAUSES: RetryPolicy = { firstMs: 500, longestMs: 5000, jitter: 'none' };

/**
 * Executes the plan from the next step to the end of the phase: in an update without the removals, which follow in the phase `prune`.
 * The result of a single step is on disk before the following step begins. Steps of one group run concurrently and their results are
 * stored in batches, so a target that groups steps must be able to repeat a batch in order. If a step leaves an object that is still
 * being deleted, later groups wait for the next operation. A step that other steps may help is put off behind them, in the journal too.
 */
export const applySteps = async (given: Work): Promise<void> => {
  const { agent } = given;
  let { operation } = given;
  let steps = operation.plan?.steps ?? [];
  const until = endOfPhase(operation, steps);
  const removals = steps.slice(operation.nextStep, until).filter(({ removal }) => removal);
  const goes = given.goal === undefined;
  const neededBy = goes ? undefined : await readNeededBy(given, keysOf(removals));
  const work = { ...given, ...defined({ neededBy }) };
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
  const isLate = createRetryTimer(work);
  let tries = 0;
  while (index < until) {
    const step = steps[index] as Step;
    const end = Math.min(until, endOfGroup(steps, index));
    checkAborted(agent.signal);
    if (step.group !== undefined) {
      const { rest, error, putOff, cause } = await applyGroup(work, steps.slice(index, end), index, keep);
      if (error) {
        waiting.push(...rest);
        fail(work, error, write);
        return;
      }
      keep(rest);
      index = end;
      if (cause) {
        if (step.group === PUT_OFF && isLate()) {
          fail(work, cause, write);
          return;
        }
        steps = moveBehind(steps, putOff, end);
        index -= putOff.length;
        operation = { ...operation, plan: { owns: [], ...operation.plan, steps } };
        record(agent, `${name}: steps put off`, () => {
          saveOperation(agent.state, { ...operation, nextStep: written });
          write();
        });
        tries += step.group === PUT_OFF ? 1 : 0;
        if (step.group === PUT_OFF && !(await waitForNext(work, tries))) return;
      }
      if (!held) continue;
      // Objects of later groups may be needed to finish the deletion, such as the controller behind a finalizer.
      waiting.push(...steps.slice(index, until).map((later) => behind(later, held as StepResult)));
      break;
    }
    index += 1;
    if (step.outcome === 'unchanged') {
      waiting.push(unchangedResult(step));
      continue;
    }
    if (step.isBarrier) save();
    const tried = await tryAlone({ ...work, operation }, step, written);
    if (tried === 'ended') return;
    const { result, error } = tried;
    // Executed and not recorded yet: after a crash here, only this step is repeated.
    agent.onJournal(`${name}: step ${index} done`);
    if (result) waiting.push(result);
    if (error) {
      // In one transaction with the failure, because a recorded step is never repeated.
      fail(work, error, write);
      return;
    }
    save();
  }
  record(agent, `${name}: ${operation.phase === 'prune' ? 'pruned' : 'applied'}`, () => {
    write();
    saveOperation(agent.state, { ...operation, nextStep: until, phase: nextPhase(work) });
  });
};

/**
 * Executes a step outside of a group. 'ended': a newer release ended the operation, or it is planned again.
 * @param index of the step among those that are recorded @throws FleetError ABORTED, API_UNREACHABLE
 */
const tryAlone = async (work: Work, step: Step, index: number): Promise<StepAttempt | 'ended'> => {
  if (step.isBarrier && isSuperseded(work)) {
    supersede(work);
    return 'ended';
  }
  const tried = await tryStep(work, step);
  if (!tried.error) return tried;
  const cause = await causeOf(work.agent, tried.error);
  const error = step.isBarrier ? await stageAgain(work, index, cause) : cause;
  return error ? { ...tried, error } : 'ended';
};

const keysOf = (steps: readonly Step[]): readonly string[] => steps.map(({ key }) => key);

/** Objects that an update no longer has are removed when it is healthy, because what still runs may need them until then. */
const endOfPhase = ({ kind, phase, rollingBack, to }: Operation, steps: readonly Step[]): number => {
  const removesLast = (kind === 'apply' || kind === 'restore') && !rollingBack && to !== undefined;
  const first = phase === 'apply' && removesLast ? steps.findIndex(({ removal }) => removal) : -1;
  return first === -1 ? steps.length : first;
};

const nextPhase = ({ goal, operation }: Work): 'settle' | 'keep' =>
  goal && operation.phase === 'apply' && operation.kind !== 'prune' ? 'settle' : 'keep';

/** Moves steps behind all others that apply something, before the next barrier or the removals. @param from index of the next step */
const moveBehind = (steps: readonly Step[], putOff: readonly Step[], from: number): readonly Step[] => {
  const moved = new Set(putOff);
  const rest = steps.filter((step) => !moved.has(step));
  const next = from - putOff.length;
  const at = rest.findIndex(({ removal, isBarrier }, index) => removal || (isBarrier && index >= next));
  return rest.toSpliced(
    at === -1 ? rest.length : at,
    0,
    ...putOff.map((step) => ({ ...step, group: PUT_OFF })),
  );
};

/** Returns whether the time is over in which steps are tried again. It begins with the first call, and again after a restart. */
const createRetryTimer = ({ target }: Work): (() => boolean) => {
  let begin: number | undefined;
  return () => {
    begin ??= performance.now();
    return performance.now() - begin >= (target.retryMs ?? 0);
  };
};

/**
 * Waits for the pause between two tries. Returns false if a newer release ended the operation.
 * @throws FleetError ABORTED
 */
const waitForNext = async (work: Work, tries: number): Promise<boolean> => {
  const { agent } = work;
  if (isSuperseded(work)) {
    supersede(work);
    return false;
  }
  await sleep(pauseMs(PAUSES, tries), undefined, { signal: untilNewRelease(agent) }).catch(() => {});
  checkAborted(agent.signal);
  checkNewRelease(agent);
  return true;
};

/** Result of a step that is skipped because an earlier one waits for a deletion. */
const behind = (step: Step, { key, state }: StepResult): StepResult => {
  if (step.outcome === 'unchanged') return unchangedResult(step);
  const leaving = { since: state?.leaving?.since ?? '', message: '' };
  return { key: step.key, outcome: 'skipped', reason: `waits until ${key} is gone`, state: { leaving } };
};
