import { nameSome } from '#bundles/name-some';
import type { Agent } from '../store/agent.ts';
import { findAttempt, isDue, REMOVAL } from '../store/applied/attempts.ts';
import { findFailure } from '../store/applied/failures.ts';
import { isHalfRemoved, type PackageRow, readPackages } from '../store/applied/packages.ts';
import { readTrustRow } from '../store/trust.ts';
import { readOwned } from '../store/applied/inventory.ts';
import { hold } from './hold.ts';
import { objectBudget } from './object-budget.ts';
import { inOrder } from '../acquire/offers/order.ts';
import { type PackageResult, resultOf } from './package-result.ts';
import { pausedFailure } from './paused-failure.ts';
import { begin, perform } from './perform.ts';

/**
 * Removes packages that the verified bundle no longer has, dependents first, after everything else succeeded. More packages
 * or objects than the prune budget, or all packages, are removed only if an operator confirmed it. Messages of held removals say why they
 * wait and how to continue.
 * @param failed packages of the release that failed or are held
 */
export const pruneLeaving = async (
  agent: Agent,
  failed: readonly string[],
): Promise<readonly PackageResult[]> => {
  const rows = readPackages(agent.state).filter((row) => !isHalfRemoved(row));
  const leaving = rows.filter(({ desired }) => desired === undefined);
  const begun = await goOnRemoving(agent);
  if (leaving.length === 0) return begun;
  if (failed.length > 0) {
    const message = `its removal waits until the rest of the release runs: ${nameSome(failed, MAX_NAMED)}; repair them, then run: fleet-agent retry`;
    return [...begun, ...leaving.map((row) => hold(agent, row, message))];
  }
  const confirmed = readTrustRow(agent.state).pruneConfirmed;
  const why = confirmed ? undefined : whyAsked(agent, leaving, rows.length);
  if (why !== undefined) {
    const names = leaving.map(({ assignment }) => assignment);
    const message = `${why} (${nameSome(names, MAX_NAMED)}); if it is meant: fleet-agent prune`;
    return [...begun, ...leaving.map((row) => hold(agent, row, message, 'PRUNE_BUDGET'))];
  }
  const results = [...begun];
  for (const row of dependentsFirst(leaving)) results.push(await removePackage(agent, row));
  return results;
};

const MAX_NAMED = 10;

/** Why the removal of these packages needs a confirmation: all packages, or more packages or objects than the prune budget. */
const whyAsked = (agent: Agent, leaving: readonly PackageRow[], all: number): string | undefined => {
  const { policy, state } = agent;
  if (leaving.length === all) return `the bundle has none of the ${all} packages that run here`;
  if (leaving.length > policy.pruneBudget)
    return `${leaving.length} packages left the bundle, at most ${policy.pruneBudget} are removed unasked`;
  const objects = leaving.reduce((sum, { assignment }) => sum + readOwned(state, assignment).length, 0);
  const allowed = objectBudget(policy);
  return objects > allowed
    ? `the packages that left the bundle have ${objects} files and objects, at most ${allowed} are removed unasked`
    : undefined;
};

/** Retries removals that wait for an object being deleted, when their pause is over. */
const goOnRemoving = async (agent: Agent): Promise<readonly PackageResult[]> => {
  const { state, edge } = agent;
  const results: PackageResult[] = [];
  for (const row of readPackages(state).filter(isHalfRemoved)) {
    const { assignment, message = '' } = row;
    const attempt = findAttempt(state, assignment, REMOVAL);
    results.push(
      attempt && !isDue(attempt, edge.now())
        ? { assignment, outcome: 'skipped', code: 'REMOVAL_WAITS', message }
        : await removePackage(agent, row),
    );
  }
  return results;
};

const dependentsFirst = (rows: readonly PackageRow[]): readonly PackageRow[] => {
  const byName = new Map(rows.map((row) => [row.assignment, row]));
  return inOrder(
    rows.map(({ assignment, current }) => ({
      assignment,
      dependsOn: current?.dependsOn ?? [],
      critical: current?.critical ?? false,
    })),
  )
    .map(({ assignment }) => byName.get(assignment) as PackageRow)
    .toReversed();
};

const removePackage = async (agent: Agent, row: PackageRow): Promise<PackageResult> => {
  const { assignment, current } = row;
  const paused = pausedFailure(agent, row, undefined);
  if (paused) return paused;
  const failure = findFailure(agent.state, assignment, undefined);
  if (failure) {
    return { assignment, outcome: 'failed', code: failure.code, message: failure.message };
  }
  const id = begin(agent, { assignment, kind: 'remove', from: current, to: undefined });
  return resultOf(await perform(agent, id));
};
