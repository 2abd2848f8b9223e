import { record } from '../journal/boundary.ts';
import { nameOf } from '../journal/name-of.ts';
import { type HandedOver, saveOperation } from '../journal/operations.ts';
import { addOwned, forgetLeaving, readOwned, readTaken } from '../store/inventory.ts';
import { readPackages } from '../store/packages.ts';
import type { State } from '../store/state.ts';
import { fail } from './fail.ts';
import { checkBounds } from './check-bounds.ts';
import { holdRemovals, removalsToConfirm } from './hold-removals.ts';
import type { Plan } from './target.ts';
import type { Work } from './work.ts';

/**
 * Takes the package out of the store, compares it with live state, and writes the plan and the inventory of everything
 * it will own into the journal: before the first write, so that no crash leaves a file that nobody owns.
 */
export const stage = async (work: Work): Promise<void> => {
  const { agent, operation } = work;
  let staged: Staged;
  try {
    staged = await planFor(work);
  } catch (error) {
    fail(work, error);
    return;
  }
  const toConfirm = removalsToConfirm(work, staged.plan);
  if (toConfirm !== undefined) {
    holdRemovals(work, toConfirm);
    return;
  }
  record(agent, `${nameOf(operation)}: staged`, () => {
    addOwned(agent.state, operation.assignment, staged.plan.owns);
    forgetLeaving(agent.state, operation.assignment);
    saveOperation(agent.state, {
      ...operation,
      phase: 'apply',
      plan: staged.plan,
      nextStep: 0,
      handed: [...operation.handed, ...staged.handed],
    });
  });
};

type Staged = { readonly plan: Plan; readonly handed: readonly HandedOver[] };

/**
 * A package that leaves the bundle is removed last, and until then its objects are free for another to take over:
 * whoever renames a workload moves its files from one package to the next without a moment of absence.
 */
const planFor = async ({ agent, target, operation, goal, load }: Work): Promise<Staged> => {
  const { state, signal } = agent;
  const owned = readOwned(state, operation.assignment);
  const desired = await load();
  // A correction or rollback restores a package that passed this check when it was applied.
  if (desired && !operation.rollingBack && operation.kind !== 'correct')
    checkBounds(desired, target.kind, state.directory);
  const others = readTaken(state, operation.assignment);
  const leaving = leavingPackages(state);
  const taken = new Map([...others].filter(([, owner]) => !leaving.has(owner)));
  const plan = await target.plan(desired, owned, taken, signal);
  const wanted = new Set(goal ? plan.owns.map(({ key }) => key) : []);
  const owners = new Set([...others].filter(([key]) => wanted.has(key)).map(([, owner]) => owner));
  const handed = [...owners].flatMap((assignment) =>
    readOwned(state, assignment)
      .filter(({ key }) => wanted.has(key))
      .map((object) => ({ assignment, object })),
  );
  if (handed.length === 0) return { plan, handed };
  const joined = [...owned, ...handed.map(({ object }) => object)];
  return { plan: await target.plan(desired, joined, taken, signal), handed };
};

const leavingPackages = (state: State): ReadonlySet<string> =>
  new Set(
    readPackages(state)
      .filter(({ desired }) => desired === undefined)
      .map(({ assignment }) => assignment),
  );
