import { record } from '../store/journal/boundary.ts';
import { nameOf } from '../store/journal/name-of.ts';
import { hasBegun, type HandedOver, saveOperation } from '../store/journal/operations.ts';
import {
  addOwned,
  dropOwned,
  forgetLeaving,
  readHandedOver,
  readOwned,
  readKeysOfOthers,
} from '../store/applied/inventory.ts';
import { readPackages } from '../store/applied/packages.ts';
import type { State } from '../store/state.ts';
import { fail } from './fail.ts';
import { checkBounds } from './check-bounds.ts';
import { readMoves } from './read-moves.ts';
import { runFailureHooks } from './run-failure-hooks.ts';
import { removalsToConfirm } from './removals-to-confirm.ts';
import type { DesiredPackage, OwnedObject, Plan } from '../model/target.ts';
import type { Work } from './work.ts';
import { formatTime } from '#bundles/time';
import { saveFailure } from '../store/applied/failures.ts';

/**
 * Loads the package, compares it with live state, and stores the plan and the inventory of everything that it will own. This
 * happens before the first write, so that a crash leaves no file without an owner. An operation that is planned again (stageAgain) keeps
 * the steps that it has done.
 */
export const stage = async (given: Work): Promise<void> => {
  const { agent } = given;
  const operation = await runFailureHooks(given);
  const work = { ...given, operation };
  let staged: Staged;
  try {
    staged = await planFor(work);
  } catch (error) {
    fail(work, error);
    return;
  }
  const { plan, desired } = staged;
  const { from } = operation;
  const isUpdate = operation.kind === 'apply' && !operation.rollingBack;
  // Removals were confirmed before the first write.
  const toConfirm =
    isUpdate && from && desired && !hasBegun(operation)
      ? await removalsToConfirm(agent, { kind: work.target.kind, plan, desired, from })
      : undefined;
  if (toConfirm !== undefined) {
    holdRemovals(work, toConfirm);
    return;
  }
  record(agent, `${nameOf(operation)}: staged`, () => {
    dropOwned(agent.state, staged.renamed);
    addOwned(agent.state, operation.assignment, staged.plan.owns);
    forgetLeaving(agent.state, operation.assignment);
    saveOperation(agent.state, {
      ...operation,
      phase: 'apply',
      plan: { ...staged.plan, steps: [...(operation.plan?.steps ?? []), ...staged.plan.steps] },
      handed: [...operation.handed, ...staged.handed],
    });
  });
};

type Staged = {
  readonly plan: Plan;
  readonly handed: readonly HandedOver[];
  /** Rows of the inventory whose objects the plan owns by other keys (Target.currentKeys). */
  readonly renamed: readonly { readonly key: string; readonly assignment: string }[];
  readonly desired: DesiredPackage | undefined;
};

/**
 * Plans the operation and determines the objects that it takes over. A package that leaves the bundle is removed last, and until
 * then another package may take its objects over, so renaming a workload does not remove its files. If an object moves between
 * packages that stay, the former owner keeps it in its inventory as `given` until the other has taken it over.
 */
const planFor = async (work: Work): Promise<Staged> => {
  const { agent, target, operation, goal, load } = work;
  const { state, signal } = agent;
  const owned = readOwned(state, operation.assignment);
  const desired = await load();
  // A correction or rollback restores a package that passed this check when it was applied.
  if (desired && !operation.rollingBack && operation.kind !== 'correct' && operation.kind !== 'prune')
    checkBounds(desired, target.kind, state.directory);
  const recorded = readKeysOfOthers(state, operation.assignment);
  const names = await target.currentKeys?.([...owned.map(({ key }) => key), ...recorded.keys()]);
  const today = (key: string): string => names?.get(key) ?? key;
  const others = new Map([...recorded].map(([key, owner]) => [today(key), owner]));
  const leaving = leavingPackages(state);
  const free = readHandedOver(state);
  const gives = await keysHandedOver(work, owned);
  const claimed = [...others].filter(([key, owner]) => !leaving.has(owner) && !free.has(key));
  const taken = new Map([...claimed, ...gives]);
  const planned = async (has: readonly OwnedObject[]): Promise<Plan> => {
    const { steps, owns } = await target.plan(desired, has, taken, signal);
    const given = owned.flatMap(({ key, state: before }) => {
      const to = gives.get(key);
      return to === undefined ? [] : [{ key, state: { ...before, given: to } }];
    });
    return { steps, owns: [...owns, ...given] };
  };
  const plan = await planned(owned);
  const wanted = new Set(goal ? plan.owns.map(({ key }) => key) : []);
  const owners = new Set([...others].filter(([key]) => wanted.has(key)).map(([, owner]) => owner));
  const handed = [...owners].flatMap((assignment) =>
    readOwned(state, assignment)
      .filter(({ key }) => wanted.has(today(key)))
      .map((object) => ({ assignment, object })),
  );
  const { assignment } = operation;
  const renamed = [
    ...owned.map(({ key }) => ({ key, assignment })),
    ...handed.map(({ object, assignment: owner }) => ({ key: object.key, assignment: owner })),
  ].filter(({ key }) => today(key) !== key && wanted.has(today(key)));
  if (handed.length === 0) return { plan, handed, renamed, desired };
  const joined = [...owned, ...handed.map(({ object }) => object)];
  return { plan: await planned(joined), handed, renamed, desired };
};

/** Keys of objects to give away -> the package that will take them over. A correction keeps earlier entries. */
const keysHandedOver = async (
  { agent, operation }: Work,
  owned: readonly OwnedObject[],
): Promise<ReadonlyMap<string, string>> => {
  const { assignment, kind, rollingBack } = operation;
  if (kind === 'apply' && !rollingBack) {
    const moves = await readMoves(agent, assignment);
    return new Map(moves.map(({ object, to }) => [object.key, to]));
  }
  if (kind !== 'correct' && kind !== 'prune') return new Map();
  return new Map(
    owned.flatMap(({ key, state }) =>
      typeof state['given'] === 'string' ? [[key, state['given']] as const] : [],
    ),
  );
};

const leavingPackages = (state: State): ReadonlySet<string> =>
  new Set(
    readPackages(state)
      .filter(({ desired }) => desired === undefined)
      .map(({ assignment }) => assignment),
  );

/** Ends an operation before its first write. It is planned again after a confirmation, or when the desired package changes. */
const holdRemovals = ({ agent, operation }: Work, message: string): void => {
  const endedAt = formatTime(agent.edge.now());
  const said = { code: 'PRUNE_BUDGET', message };
  record(agent, `${nameOf(operation)}: held`, () => {
    saveFailure(agent.state, operation.assignment, operation.to, { ...said, at: endedAt, checks: [] });
    saveOperation(agent.state, { ...operation, ...said, phase: 'done', outcome: 'held', endedAt });
  });
};
