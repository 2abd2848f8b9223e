import { defined } from '#bundles/defined';
import { formatTime } from '#bundles/time';
import type { Agent } from '../store/agent.ts';
import { record, recordUnsynced } from '../store/journal/boundary.ts';
import {
  hasBegun,
  insertOperation,
  type Operation,
  openOperations,
  readOperation,
} from '../store/journal/operations.ts';
import { stopIfReplaced } from '../store/upgrade-trial.ts';
import { restoreSecrets, recordRestored } from './restore-secrets.ts';
import type { PackageRef } from '../store/applied/package-ref.ts';
import { applySteps } from './apply-steps.ts';
import { fail } from './fail.ts';
import { keep } from './keep.ts';
import { loadPackage } from './load-package.ts';
import { settle } from './settle.ts';
import { stage } from './stage.ts';
import { type Beside, createUnderWay } from './under-way.ts';
import { noTarget } from '../model/no-target.ts';
import type { DesiredPackage, Target } from '../model/target.ts';
import type { Work } from './work.ts';

/** Inserts a new operation into the journal and returns its id. `also` runs in the same transaction. */
export const begin = (
  agent: Agent,
  what: Pick<Operation, 'assignment' | 'kind' | 'from' | 'to'>,
  also?: () => void,
): number =>
  (also ? record : recordUnsynced)(agent, `${what.kind} ${what.assignment}: begun`, () => {
    also?.();
    return insertOperation(agent.state, { ...what, startedAt: formatTime(agent.edge.now()) });
  });

/** Restores secrets and finishes interrupted operations. Every command that changes something calls this first. */
export const resume = async (agent: Agent): Promise<readonly Operation[]> => {
  stopIfReplaced(agent.state.directory);
  recordRestored(agent, await restoreSecrets(agent));
  const open = openOperations(agent.state);
  const underWay = createUnderWay(open.length);
  const ended: Operation[] = [];
  for (const { id } of open) {
    await underWay.add(async (beside) => {
      ended.push(await perform(agent, id, beside));
    });
  }
  await underWay.all();
  return ended;
};

/**
 * Runs an operation from the phase in its journal row to the end, with exclusive access to its target. Each phase ends with one
 * transaction that advances the row, so that the operation can be resumed after a kill.
 * @param beside where operations of other packages are under way
 * @throws FleetError ABORTED, NO_TARGET; BUSY or API_UNREACHABLE for an operation that had begun. A failed package is a result
 */
export const perform = async (agent: Agent, id: number, beside: Beside = ALONE): Promise<Operation> => {
  const operation = readOperation(agent.state, id);
  const { exclusive } = targetOf(agent, operation);
  if (!exclusive) return walk(agent, id, beside);
  let isOurs = false;
  try {
    return await exclusive(agent.signal, (signal) => {
      isOurs = true;
      return walk({ ...agent, signal }, id, beside);
    });
  } catch (error) {
    // An operation that has begun is resumed when the target is free; one that has not fails and is retried.
    if (isOurs || hasBegun(operation) || operation.rollingBack) throw error;
    fail(workOf(agent, operation, loaderOf(agent)), error);
    return readOperation(agent.state, id);
  }
};

const ALONE: Beside = { enter: async () => () => {}, onWait: () => {} };

const walk = async (agent: Agent, id: number, { enter, onWait }: Beside): Promise<Operation> => {
  const load = loaderOf(agent);
  let leave = await enter();
  try {
    for (;;) {
      const operation = readOperation(agent.state, id);
      const work = workOf(agent, operation, load);
      switch (operation.phase) {
        case 'stage':
          await stage(work);
          break;
        case 'apply':
        case 'prune':
          await applySteps(work);
          break;
        case 'settle':
          leave();
          onWait();
          await settle(work);
          leave = await enter();
          break;
        case 'keep':
          keep(work);
          break;
        case 'done':
          return operation;
      }
    }
  } finally {
    leave();
  }
};

type How = Pick<DesiredPackage, 'ranBefore' | 'onlyRemovals'>;
type Loader = (goal: PackageRef | undefined, how: How) => Promise<DesiredPackage | undefined>;

/** Returns a loader that reads each package only once for all phases. */
const loaderOf = (agent: Agent): Loader => {
  const packages = new Map<string, Promise<DesiredPackage>>();
  return async (goal, how) => {
    if (!goal) return undefined;
    const key = JSON.stringify([goal, how]);
    const read = async (): Promise<DesiredPackage> => {
      const desired = await loadPackage(agent.state, agent.identity.agent, goal, agent.signal);
      return { ...desired, ...how };
    };
    const known = packages.get(key) ?? read();
    packages.set(key, known);
    return known;
  };
};

const workOf = (agent: Agent, operation: Operation, load: Loader): Work => {
  const { rollingBack, kind, from, to } = operation;
  const goal = rollingBack ? from : to;
  const how: How = defined({
    ranBefore: rollingBack || kind === 'correct' ? true : undefined,
    onlyRemovals: kind === 'prune' ? true : undefined,
  });
  return {
    agent,
    target: targetOf(agent, operation),
    operation,
    goal,
    load: () => load(goal, how),
    loadTried: () => load(to, {}),
  };
};

const targetOf = (agent: Agent, { to, from, assignment }: Operation): Target => {
  const kind = (to ?? from)?.kind;
  const target = agent.targets.find((candidate) => candidate.kind === kind);
  if (target) return target;
  throw noTarget(`the package of ${assignment}`, kind, assignment);
};
