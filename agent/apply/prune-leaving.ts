import { nameSome } from '#bundles/name-some';
import { inOrder } from '../acquire/offers/order.ts';
import type { Agent } from '../store/agent.ts';
import { findAttempt, isDue, REMOVAL } from '../store/applied/attempts.ts';
import { findFailure } from '../store/applied/failures.ts';
import { isHalfRemoved, type PackageRow, readPackages } from '../store/applied/packages.ts';
import { readTrustRow } from '../store/trust.ts';
import { hold } from './hold.ts';
import { openOrigins } from './origin-of.ts';
import { type PackageResult, resultOf } from './package-result.ts';
import { pausedFailure } from './paused-failure.ts';
import { begin, perform } from './perform.ts';
import { removalHolders } from './removal-holders.ts';
import { findUnconfirmed } from './find-unconfirmed.ts';

/**
 * Removes packages that the verified bundle no longer has, dependents first. Each is
 * judged for itself: one that a package of the release needs or replaces waits for that package alone, and those of the workspaces that
 * remove more than the prune budget has left wait for an operator's confirmation, as all packages of the agent together do. Messages of
 * held removals say why they wait and how to continue.
 * @param which 'all' after the packages of the release were tried. Before that 'unwanted', those that none of these may need, replace or take
 *   over; what waits for a package alone is not reported yet
 */
export const pruneLeaving = async (
  agent: Agent,
  which: 'all' | 'unwanted',
): Promise<readonly PackageResult[]> => {
  const isEarly = which !== 'all';
  const rows = readPackages(agent.state).filter((row) => !isHalfRemoved(row));
  const leaving = rows.filter(({ desired }) => desired === undefined);
  const begun = isEarly ? [] : await retryRemovals(agent);
  if (leaving.length === 0) return begun;
  const originOf = openOrigins(agent);
  const holders = await removalHolders(agent, leaving, { originOf, isEarly });
  const asked = readTrustRow(agent.state).pruneConfirmed
    ? new Map<string, string>()
    : await findUnconfirmed(agent, leaving, rows.length, originOf);
  const results = [...begun];
  // All that wait are recorded before the first removal: a kill between two removals does not change what is asked.
  for (const row of leaving) {
    const why = asked.get(row.assignment);
    const by = holders.get(row.assignment);
    if (why !== undefined) results.push(hold(agent, row, why, 'PRUNE_BUDGET'));
    else if (by && !isEarly) results.push(hold(agent, row, describeWaits(by)));
  }
  const free = leaving.filter(({ assignment }) => !asked.has(assignment) && !holders.has(assignment));
  for (const row of dependentsFirst(free)) results.push(await removePackage(agent, row));
  return results;
};

const MAX_NAMED = 10;

const describeWaits = (by: readonly string[]): string =>
  `its removal waits until the packages that need or replace it run as desired: ${nameSome(by, MAX_NAMED)}; repair them, then run: fleet-agent retry`;

/** Retries removals that wait for an object being deleted, when their pause is over. */
const retryRemovals = async (agent: Agent): Promise<readonly PackageResult[]> => {
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
