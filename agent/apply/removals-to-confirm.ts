import type { Outcome } from '#bundles/formats/events/event';
import { parseHostPackage } from '#bundles/formats/bundle/host-package';
import { parseManifests } from '#bundles/formats/bundle/parse-manifests';
import type { DesiredPackage, Plan, Target } from '../model/target.ts';
import type { Agent } from '../store/agent.ts';
import { readKeysOfOthers } from '../store/applied/inventory.ts';
import type { PackageRef } from '../store/applied/package-ref.ts';
import { checkAborted } from '../store/journal/boundary.ts';
import { hasUnfinishedTry } from '../store/journal/operations.ts';
import { readTrustRow } from '../store/trust.ts';
import { loadWithoutValues } from './load-package.ts';
import { OBJECTS_PER_PACKAGE, objectBudget } from './object-budget.ts';

/** An update of a package that runs. */
export type PlannedUpdate = {
  readonly kind: Target['kind'];
  readonly plan: Plan;
  readonly desired: DesiredPackage;
  /** The package that runs. */
  readonly from: PackageRef;
};

/**
 * The reason why the removals of an update need confirmation by an operator; undefined if they do not. Created files and objects offset
 * removed ones, because generated names (ConfigMaps, files of a page) change with every release.
 */
export const removalsToConfirm = async (agent: Agent, update: PlannedUpdate): Promise<string | undefined> => {
  const { state, policy } = agent;
  const { kind, plan, desired } = update;
  const count = (wanted: Outcome): number => plan.steps.filter(({ outcome }) => outcome === wanted).length;
  const [removed, created] = [count('deleted'), count('created')];
  if (removed - created < OBJECTS_PER_PACKAGE || readTrustRow(state).pruneConfirmed) return undefined;
  const fewer = Math.min(removed - created, await fewerThanBefore(agent, update));
  if (fewer < OBJECTS_PER_PACKAGE) return undefined;
  const allowed = objectBudget(policy);
  const left = kind === 'host' ? plan.owns.length : objectsIn(desired.files, 'manifests/');
  const leavesLittle = left * MIN_SHARE < left + fewer;
  if (fewer <= allowed && !leavesLittle) return undefined;
  const little =
    left === 0
      ? 'none of its application is left'
      : `of ${left + fewer} of its application ${left} would be left`;
  const bound = leavesLittle ? little : `at most ${allowed} fewer go unasked`;
  return `the release removes ${removed} objects of the package and creates ${created}; ${bound}; if it is meant: fleet-agent prune`;
};

/** An update that leaves less than a tenth of a package looks like a mistake in a template or path, whatever the budget. */
const MIN_SHARE = 10;

/**
 * How many objects fewer the package lists than the one that runs. After an interrupted update the plan does not show it: objects that the
 * update created exist already, so that the plan does not count them as created, and counts those that this release lacks as removed. Objects
 * that other packages still own do not count as new. Infinity if the plan alone counts: no update was interrupted, or the running package
 * cannot be read.
 */
const fewerThanBefore = async (
  { state, signal }: Agent,
  { kind, plan, desired, from }: PlannedUpdate,
): Promise<number> => {
  if (!hasUnfinishedTry(state, from.assignment)) return Infinity;
  try {
    const before = await loadWithoutValues(state, from, signal);
    const others = readKeysOfOthers(state, from.assignment);
    const takenOver = plan.owns.filter(({ key }) => others.has(key)).length;
    return sizeOf(kind, before.files) - (sizeOf(kind, desired.files) - takenOver);
  } catch {
    checkAborted(signal);
    return Infinity;
  }
};

/** Number of objects that a package lists, with those that the platform's templates add. */
const sizeOf = (kind: Target['kind'], files: DesiredPackage['files']): number => {
  if (kind === 'kubernetes') return objectsIn(files, '');
  const spec = parseHostPackage(files.get('package.json') ?? Buffer.alloc(0));
  const lists = [spec.directories, spec.files, spec.secrets, spec.units, spec.images];
  return lists.reduce((sum, list) => sum + (list?.length ?? 0), 0);
};

/** Number of objects in the files of a folder. What the platform's templates add on a cluster lies beside that of the application's manifests. */
const objectsIn = (files: DesiredPackage['files'], folder: string): number =>
  parseManifests(new Map([...files].filter(([path]) => path.startsWith(folder)))).reduce(
    (sum, { value: { items } }) => sum + (Array.isArray(items) ? items.length : 1),
    0,
  );
