import { compareBytes } from '#bundles/digest';
import { nameSome } from '#bundles/name-some';
import type { Agent } from '../store/agent.ts';
import { readOwned } from '../store/applied/inventory.ts';
import type { PackageRow } from '../store/applied/packages.ts';
import { objectBudget } from './object-budget.ts';
import type { OriginOf } from './origin-of.ts';

const MAX_NAMED = 10;

/**
 * Finds the removals that need a confirmation, and says why: all of them if no package would be left, else those of the workspaces for
 * which the prune budget is too small. It goes to the workspace that removes least first, so that one that removes much holds no other.
 * What was held once stays held until it is confirmed, so that a later look does not spend the budget again.
 * @param all number of packages that run here
 * @returns messages by package
 */
export const findUnconfirmed = async (
  { policy, state }: Agent,
  leaving: readonly PackageRow[],
  all: number,
  originOf: OriginOf,
): Promise<ReadonlyMap<string, string>> => {
  const askedFor = (rows: readonly PackageRow[], why: string) =>
    rows.map(
      ({ assignment }) =>
        [assignment, `${why} (${nameOf(rows)}); if it is meant: fleet-agent prune`] as const,
    );
  if (leaving.length === all)
    return new Map(askedFor(leaving, `the bundle has none of the ${all} packages that run here`));
  const groups = new Map<string, PackageRow[]>();
  for (const row of leaving) {
    const workspace = (await originOf(row.current))?.workspace ?? '';
    groups.set(workspace, [...(groups.get(workspace) ?? []), row]);
  }
  const sized = [...groups]
    .map(([workspace, rows]) => ({
      workspace,
      rows,
      objects: rows.reduce((sum, { assignment }) => sum + readOwned(state, assignment).length, 0),
    }))
    .toSorted(
      (a, b) =>
        a.rows.length - b.rows.length || a.objects - b.objects || compareBytes(a.workspace, b.workspace),
    );
  const allowed = objectBudget(policy);
  const [few, small] = [
    `${leaving.length} packages left the bundle, at most ${policy.pruneBudget} are removed unasked`,
    (objects: number) =>
      `the packages that left the bundle have ${objects} files and objects, at most ${allowed} are removed unasked`,
  ];
  const asked = new Map<string, string>();
  let [packages, objects] = [0, 0];
  for (const { rows, objects: own } of sized) {
    packages += rows.length;
    objects += own;
    const before = rows.find(({ status, code }) => status === 'skipped' && code === 'PRUNE_BUDGET');
    const large = objects > allowed ? small(objects) : undefined;
    const why = packages > policy.pruneBudget ? few : large;
    if (why !== undefined) for (const [name, message] of askedFor(rows, why)) asked.set(name, message);
    else if (before) for (const { assignment } of rows) asked.set(assignment, before.message ?? few);
  }
  return asked;
};

const nameOf = (rows: readonly PackageRow[]): string =>
  nameSome(
    rows.map(({ assignment }) => assignment),
    MAX_NAMED,
  );
