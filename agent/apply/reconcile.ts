import { defined } from '#bundles/defined';
import { isFleetError } from '#bundles/errors';
import { formatTime } from '#bundles/time';
import { inOrder } from '../acquire/offers/order.ts';
import { frozenBy } from '../acquire/staleness/frozen-by.ts';
import type { Staleness } from '../acquire/staleness/read-staleness.ts';
import type { Agent } from '../store/agent.ts';
import { findFailure } from '../store/applied/failures.ts';
import { isSamePackage, type PackageRef } from '../store/applied/package-ref.ts';
import {
  findPackage,
  isHalfRemoved,
  type PackageRow,
  readPackages,
  savePackage,
} from '../store/applied/packages.ts';
import { record } from '../store/journal/boundary.ts';
import { failedChecksOf } from '../store/outbox/changes.ts';
import { appendEvent } from '../store/outbox/outbox.ts';
import { readSiteHold, describeSiteHold } from '../store/site-hold.ts';
import { readTrustRow } from '../store/trust.ts';
import { finishRemovals } from './finish-removals.ts';
import { hold } from './hold.ts';
import { type PackageResult, resultOf } from './package-result.ts';
import { pausedFailure } from './paused-failure.ts';
import { begin, perform } from './perform.ts';
import { type Beside, createUnderWay } from './under-way.ts';
import { pruneLeaving } from './prune-leaving.ts';
import { type Move, readMoves } from './read-moves.ts';
import { readTurns } from './read-turns.ts';
import { whyRebootWaits } from './why-reboot-waits.ts';
import { describeKnownFailure } from './describe-known-failure.ts';

type Wanted = PackageRow & { readonly desired: PackageRef; readonly turn: number };

/**
 * Applies the desired version of every package, dependencies first and then in turns (readTurns), and removes packages that left the bundle:
 * those that nothing holds before the packages that may take long, the others at the end.
 * Packages that already run as desired are skipped and not in the result.
 * On a target that allows it, packages that do not depend on each other are applied while others wait for their health.
 * @param aside packages that kept others waiting before and go after those of the first turn
 */
export const reconcile = async (
  agent: Agent,
  aside: readonly string[] = [],
): Promise<readonly PackageResult[]> => {
  const held = readSiteHold(agent);
  if (held) return holdPending(agent, describeSiteHold(held), 'HELD');
  const frozen = frozenBy(agent);
  if (frozen) return holdPending(agent, describeStale(frozen), 'STALE');
  const results = new Map<string, PackageResult>();
  const removed: PackageResult[] = [];
  let more = true;
  while (more) {
    const round = await applyWanted(agent, aside, async () => {
      removed.push(...(await pruneLeaving(agent, 'unwanted')));
    });
    for (const result of round) results.set(result.assignment, result);
    // A package may have failed on an object that a later package of this round has released: another round can take it.
    more = round.some(({ code }) => code === 'PATH_CLAIMED') && !round.every(isWrong);
    if (agent.news?.aborted) return [...results.values(), ...removed];
  }
  removed.push(...(await pruneLeaving(agent, 'all')));
  return finishRemovals(agent, [...results.values(), ...removed]);
};

const isWrong = ({ outcome }: PackageResult): boolean => outcome === 'failed' || outcome === 'skipped';

/** How many packages wait for their health at the same time, each with watches of its own. */
const WAITING = 4;

/** @param beforeLate runs once, before the first package that may keep others waiting for long */
const applyWanted = async (
  agent: Agent,
  aside: readonly string[],
  beforeLate: () => Promise<void>,
): Promise<readonly PackageResult[]> => {
  const results = new Map<string, PackageResult>();
  const failed = new Set<string>();
  await using underWay = createUnderWay(WAITING);
  const { order, hasMoves } = await wantedInOrder(agent, aside);
  let stopped: string | undefined;
  let isLate = false;
  const end = (result: PackageResult, { assignment, critical }: PackageRef): void => {
    results.set(assignment, result);
    if (!isWrong(result)) return;
    failed.add(assignment);
    if (critical && result.outcome === 'failed') stopped ??= assignment;
  };
  for (const { assignment, desired, turn } of order) {
    const { pinnedRelease, current } = findPackage(agent.state, assignment) ?? {};
    if (pinnedRelease !== undefined || isSamePackage(current, desired)) continue;
    const begins = !isLate && turn > 0 && !desired.critical;
    const isAlone = hasMoves || !mayGoBeside(agent, desired);
    // What it needs is known to run, or to have failed.
    await (isAlone || begins || desired.dependsOn.length > 0 ? underWay.all() : underWay.room());
    if (begins) {
      isLate = true;
      await beforeLate();
    }
    const row = findPackage(agent.state, assignment);
    if (!row) continue;
    // A newer release is about to replace the desired packages.
    if (agent.news?.aborted) break;
    const held = reasonToHold(desired, failed, stopped);
    const known = knownFailure(agent, row, desired) ?? pausedFailure(agent, row, desired);
    if (known) end(known, desired);
    else if (held !== undefined) end(hold(agent, row, held), desired);
    else await underWay.add(async (beside) => end(await applyPackage(agent, row, desired, beside), desired));
    if (isAlone) await underWay.all();
  }
  await underWay.all();
  // Those that wait end in any order.
  return order.flatMap(({ assignment }) => results.get(assignment) ?? []);
};

/** A `critical` package that fails keeps all others back, and a target may let its packages go on one after the other alone. */
const mayGoBeside = ({ targets }: Agent, { kind, critical }: PackageRef): boolean =>
  !critical && targets.some((target) => target.kind === kind && target.waitsBeside === true);

const wantedInOrder = async (
  agent: Agent,
  aside: readonly string[],
): Promise<{ readonly order: readonly Wanted[]; readonly hasMoves: boolean }> => {
  const rows = readPackages(agent.state).filter(
    (row): row is Omit<Wanted, 'turn'> => row.desired !== undefined,
  );
  const refs = rows.map(({ desired }) => desired);
  const turns = await readTurns(agent, refs);
  const turnOf = (assignment: string): number =>
    Math.max(turns.get(assignment) ?? 0, aside.includes(assignment) ? 1 : 0);
  const timed = refs.map((ref) => ({ ...ref, turn: turnOf(ref.assignment) }));
  const moves = await readMoves(agent);
  const order = previousOwnersFirst(timed, moves).map(({ assignment }) => assignment);
  const byName = new Map(rows.map((row) => [row.assignment, { ...row, turn: turnOf(row.assignment) }]));
  return {
    order: order.map((assignment) => byName.get(assignment) as Wanted),
    hasMoves: moves.length > 0,
  };
};

/** Orders a package that takes an object over after the one that owns it, unless dependencies prevent that. */
const previousOwnersFirst = (refs: readonly PackageRef[], moves: readonly Move[]): readonly PackageRef[] => {
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
  if (dependency !== undefined)
    return `it depends on ${dependency}, which does not run as desired; ${describeRepair(dependency)}`;
  return stopped === undefined
    ? undefined
    : `the critical package ${stopped} failed; ${describeRepair(stopped)}`;
};

const describeRepair = (assignment: string): string =>
  `repair that package, then run: fleet-agent retry ${assignment}`;

/** Returns a remembered failure of the same package, which is not retried even if a later release wants it again. */
const knownFailure = (agent: Agent, row: PackageRow, desired: PackageRef): PackageResult | undefined => {
  const { assignment, package: digest, siteValues, release } = desired;
  const failure = findFailure(agent.state, assignment, desired);
  if (!failure) return undefined;
  const { code } = failure;
  if (code === 'PRUNE_BUDGET')
    return readTrustRow(agent.state).pruneConfirmed ? undefined : hold(agent, row, failure.message, code);
  const message = describeKnownFailure(assignment, failure);
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
        detail: failure.checks.length > 0 ? failedChecksOf(failure.checks) : undefined,
      });
    });
  }
  return { assignment, outcome: 'failed', code, message };
};

const applyPackage = async (
  agent: Agent,
  row: PackageRow,
  desired: PackageRef,
  beside: Beside,
): Promise<PackageResult> => {
  const { assignment, current } = row;
  const waits = await whyRebootWaits(agent, desired);
  if (waits !== undefined) return hold(agent, row, waits, 'REBOOT_REQUIRED');
  const id = begin(agent, { assignment, kind: 'apply', from: current, to: desired });
  const operation = await perform(agent, id, beside);
  return operation.outcome === 'held'
    ? hold(agent, row, operation.message ?? '', operation.code)
    : resultOf(operation);
};

const describeStale = ({ causes: [first] }: Staleness): string =>
  first
    ? `${first.why}, and onStale is block-changes; ${first.todo}`
    : 'no valid statement covers it, and onStale is block-changes; ask for a newer release by medium or registry';

/** Holds all pending changes back; packages that failed before stay failed. */
const holdPending = (agent: Agent, why: string, code: 'HELD' | 'STALE'): readonly PackageResult[] => {
  const results: PackageResult[] = [];
  for (const row of readPackages(agent.state)) {
    const { assignment, desired, current, pinnedRelease, status, message } = row;
    if (pinnedRelease !== undefined || (desired && isSamePackage(current, desired))) continue;
    // Its row stays as it is, because the package is in part removed already: the removal goes on after the hold.
    if (isHalfRemoved(row))
      results.push({
        assignment,
        outcome: 'skipped',
        code: 'REMOVAL_WAITS',
        message: `${message ?? ''}; ${why}`,
      });
    else if (status !== 'failed' && status !== 'broken') results.push(hold(agent, row, why, code));
    else {
      const said = defined({
        code: row.code,
        message,
      });
      results.push({ assignment, outcome: 'failed', ...said });
    }
  }
  return results;
};
