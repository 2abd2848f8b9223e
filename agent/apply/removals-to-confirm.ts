import type { Outcome } from '#bundles/formats/events/event';
import type { DesiredPackage, Plan, Target } from '../model/target.ts';
import { parseManifests } from '#bundles/formats/bundle/parse-manifests';
import type { Agent } from '../store/agent.ts';
import { readTrustRow } from '../store/trust.ts';
import { OBJECTS_PER_PACKAGE, objectBudget } from './object-budget.ts';

/** An update of a package that runs. */
export type PlannedUpdate = {
  readonly kind: Target['kind'];
  readonly plan: Plan;
  readonly desired: DesiredPackage | undefined;
};

/**
 * The reason why the removals of an update need confirmation by an operator; undefined if they do not. Created files and objects offset
 * removed ones, because generated names (ConfigMaps, files of a page) change with every release.
 */
export const removalsToConfirm = (
  { state, policy }: Pick<Agent, 'state' | 'policy'>,
  { kind, plan: { steps, owns }, desired }: PlannedUpdate,
): string | undefined => {
  const count = (wanted: Outcome): number => steps.filter(({ outcome }) => outcome === wanted).length;
  const [removed, created] = [count('deleted'), count('created')];
  const fewer = removed - created;
  const allowed = objectBudget(policy);
  if (fewer < OBJECTS_PER_PACKAGE || readTrustRow(state).pruneConfirmed) return undefined;
  const left = sizeOf(kind, owns, desired);
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

/** Number of objects of an application. What the platform's templates add on a cluster lies beside the folder of its manifests. */
const sizeOf = (kind: Target['kind'], owns: Plan['owns'], desired: DesiredPackage | undefined): number => {
  if (kind === 'host') return owns.length;
  const own = [...(desired?.files ?? [])].filter(([path]) => path.startsWith('manifests/'));
  return parseManifests(new Map(own)).reduce(
    (sum, { value: { items } }) => sum + (Array.isArray(items) ? items.length : 1),
    0,
  );
};
