import { isFleetError } from '#bundles/errors';
import { formatTime } from '#bundles/time';
import type { Agent } from '../agent.ts';
import { record } from '../journal/boundary.ts';
import { failedChecksOf } from '../report/changes.ts';
import { appendEvent } from '../report/outbox.ts';
import { frozenBy } from '../staleness/frozen-by.ts';
import { findFailure } from '../store/failures.ts';
import { isSame, type PackageRef } from '../store/package-ref.ts';
import { findPackage, type PackageRow, readPackages, savePackage } from '../store/packages.ts';
import { readTrustRow } from '../store/trust.ts';
import { hold } from './hold.ts';
import { holdFrozen } from './hold-frozen.ts';
import { inOrder } from './order.ts';
import { type PackageResult, resultOf } from './package-result.ts';
import { pausedFailure } from './paused-failure.ts';
import { begin, perform } from './perform.ts';
import { pruneLeaving } from './prune-leaving.ts';
import { type Move, readMoves } from './read-moves.ts';

type Wanted = PackageRow & { readonly desired: PackageRef };

/**
 * Brings every package to what the accepted release wants, dependencies first; then, if all of that succeeded, removes
 * what left the bundle. Packages that already run as wanted cost nothing and are not in the result.
 */
export const reconcile = async (agent: Agent): Promise<readonly PackageResult[]> => {
  const frozen = frozenBy(agent);
  if (frozen) return holdFrozen(agent, frozen);
  const results = new Map<string, PackageResult>();
  let more = true;
  while (more) {
    const round = await applyWanted(agent);
    for (const result of round) results.set(result.assignment, result);
    // An object that moves to a package which has to come first is free for it only when the other has let it go.
    more = round.some(({ code }) => code === 'PATH_CLAIMED') && !round.every(isWrong);
    if (agent.news?.aborted) return [...results.values()];
  }
  const failed = [...results.values()].filter(isWrong).map(({ assignment }) => assignment);
  return [...results.values(), ...(await pruneLeaving(agent, failed))];
};

const isWrong = ({ outcome }: PackageResult): boolean => outcome === 'failed' || outcome === 'skipped';

const applyWanted = async (agent: Agent): Promise<readonly PackageResult[]> => {
  const results: PackageResult[] = [];
  const failed = new Set<string>();
  let stopped: string | undefined;
  for (const { assignment, desired } of await wantedInOrder(agent)) {
    const row = findPackage(agent.state, assignment);
    if (!row || row.pinnedRelease !== undefined) continue;
    if (isSame(row.current, desired)) continue;
    // What is wanted is about to change; the rest is for the next round.
    if (agent.news?.aborted) return results;
    const held = reasonToHold(desired, failed, stopped);
    const result =
      knownFailure(agent, row, desired) ??
      pausedFailure(agent, row, desired) ??
      (held === undefined ? await applyPackage(agent, row, desired) : hold(agent, row, held));
    results.push(result);
    if (!isWrong(result)) continue;
    failed.add(assignment);
    if (desired.critical && result.outcome === 'failed') stopped ??= assignment;
  }
  return results;
};

const wantedInOrder = async (agent: Agent): Promise<readonly Wanted[]> => {
  const rows = readPackages(agent.state).filter((row): row is Wanted => row.desired !== undefined);
  const refs = rows.map(({ desired }) => desired);
  const order = giversFirst(refs, await readMoves(agent)).map(({ assignment }) => assignment);
  const byName = new Map(rows.map((row) => [row.assignment, row]));
  return order.map((assignment) => byName.get(assignment) as Wanted);
};

/** A package that takes an object over comes after the one that has it, unless dependencies say otherwise. */
const giversFirst = (refs: readonly PackageRef[], moves: readonly Move[]): readonly PackageRef[] => {
  if (moves.length === 0) return inOrder(refs);
  const after = (ref: PackageRef) => moves.filter(({ to }) => to === ref.assignment).map(({ from }) => from);
  try {
    return inOrder(refs.map((ref) => ({ ...ref, dependsOn: [...ref.dependsOn, ...after(ref)] })));
  } catch (error) {
    if (!isFleetError(error, 'DEPENDENCY_CYCLE')) throw error;
    return inOrder(refs);
  }
};

const reasonToHold = (
  desired: PackageRef,
  failed: ReadonlySet<string>,
  stopped: string | undefined,
): string | undefined => {
  const dependency = desired.dependsOn.find((id) => failed.has(id));
  if (dependency !== undefined) return `it depends on ${dependency}, which is not as it should be`;
  return stopped === undefined ? undefined : `the critical package ${stopped} failed`;
};

/** Once tried and failed is failed, also when a later release wants the very same again. */
const knownFailure = (agent: Agent, row: PackageRow, desired: PackageRef): PackageResult | undefined => {
  const { assignment, package: digest, siteValues, release } = desired;
  const failure = findFailure(agent.state, assignment, desired);
  if (!failure) return undefined;
  const { code } = failure;
  if (code === 'PRUNE_BUDGET')
    return readTrustRow(agent.state).pruneConfirmed ? undefined : hold(agent, row, failure.message, code);
  const message = `failed at ${failure.at} and is not tried again before it changes or "retry": ${failure.message}`;
  if (row.status !== 'failed' && row.status !== 'broken') {
    record(agent, `known failure ${assignment}`, () => {
      const since = formatTime(agent.edge.now());
      savePackage(agent.state, { ...row, status: 'failed', code, message, since });
      const what = { assignment, package: digest, siteValues, release };
      appendEvent(agent, {
        type: 'package',
        ...what,
        outcome: 'failed',
        code,
        message,
        ...(failure.checks.length > 0 ? { detail: failedChecksOf(failure.checks) } : {}),
      });
    });
  }
  return { assignment, outcome: 'failed', code, message };
};

const applyPackage = async (agent: Agent, row: PackageRow, desired: PackageRef): Promise<PackageResult> => {
  const { assignment, current } = row;
  const id = begin(agent, { assignment, kind: 'apply', from: current, to: desired });
  const operation = await perform(agent, id);
  return operation.outcome === 'held'
    ? hold(agent, row, operation.message ?? '', operation.code)
    : resultOf(operation);
};
