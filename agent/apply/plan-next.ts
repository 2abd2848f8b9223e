import { defined } from '#bundles/defined';
import { toFleetError } from '#bundles/errors';
import type { Outcome } from '#bundles/formats/events/event';
import type { Agent } from '../store/agent.ts';
import { checkBounds } from './check-bounds.ts';
import { loadPackage } from './load-package.ts';
import { openOrigins } from './origin-of.ts';
import { findUnconfirmed } from './find-unconfirmed.ts';
import { removalsToConfirm } from './removals-to-confirm.ts';
import { describeKnownFailure } from './describe-known-failure.ts';
import { findFailure } from '../store/applied/failures.ts';
import { readTrustRow } from '../store/trust.ts';
import { findRunning } from './find-running.ts';
import { checkAborted } from '../store/journal/boundary.ts';
import { sentenceOf } from '../store/outbox/sentence-of.ts';
import { readOwned, readKeysOfOthers } from '../store/applied/inventory.ts';
import { isSamePackage } from '../store/applied/package-ref.ts';
import { isHalfRemoved, type PackageRow, readPackages } from '../store/applied/packages.ts';

/** Changes that the release in force would make to one package; `error`: why they could not be planned. */
export type NextChanges = {
  readonly assignment: string;
  readonly changes: readonly { readonly key: string; readonly outcome: Outcome; readonly reason: string }[];
  readonly error?: { readonly code: string; readonly message: string };
  /** Why the changes would not be made, and the verb that lets them go on; of the package alone, not of a hold. */
  readonly waits?: { readonly code: string; readonly message: string };
};

/**
 * Plans the packages that the accepted release still has to apply or remove, such as during a hold or outside of windows. Writes nothing.
 * Each is planned for itself, from live state as it is now. @param assignments empty for all
 * @throws FleetError ABORTED, USAGE for an unknown package
 */
export const planNext = async (
  agent: Agent,
  assignments: readonly string[] = [],
): Promise<readonly NextChanges[]> => {
  const all = readPackages(agent.state);
  const rows =
    assignments.length === 0 ? all : assignments.map((assignment) => findRunning(agent, assignment));
  const going = all.filter((row) => !row.desired);
  const leaving = new Set(going.map(({ assignment }) => assignment));
  const asked = await confirmationsOf(agent, all, going);
  const next: NextChanges[] = [];
  for (const row of rows) {
    if (!isPending(row)) continue;
    const why = asked.get(row.assignment);
    const planned = await planOne(agent, row, leaving);
    next.push(why === undefined ? planned : { ...planned, waits: { code: 'PRUNE_BUDGET', message: why } });
  }
  return next;
};

/** Messages of the removals that wait for a confirmation, by package. */
const confirmationsOf = async (
  agent: Agent,
  all: readonly PackageRow[],
  going: readonly PackageRow[],
): Promise<ReadonlyMap<string, string>> => {
  const whole = going.filter((row) => !isHalfRemoved(row));
  if (whole.length === 0 || readTrustRow(agent.state).pruneConfirmed) return new Map();
  const count = all.filter((row) => !isHalfRemoved(row)).length;
  return findUnconfirmed(agent, whole, count, openOrigins(agent));
};

const isPending = (row: PackageRow): boolean =>
  row.pinnedRelease === undefined && !isHalfRemoved(row) && !isSamePackage(row.current, row.desired);

/** @param leaving packages whose objects others may take over, because they are removed last */
const planOne = async (
  agent: Agent,
  { assignment, desired, current }: PackageRow,
  leaving: ReadonlySet<string>,
): Promise<NextChanges> => {
  const { state, identity, targets, signal } = agent;
  checkAborted(signal);
  try {
    const target = targets.find(({ kind }) => kind === (desired ?? current)?.kind);
    const wanted = desired && (await loadPackage(state, identity.agent, desired, signal));
    if (wanted && target) checkBounds(wanted, target.kind, state.directory);
    const taken = new Map(
      [...readKeysOfOthers(state, assignment)].filter(([, owner]) => !leaving.has(owner)),
    );
    const plan = await target?.plan(wanted, readOwned(state, assignment), taken, signal);
    const changes = (plan?.steps ?? []).filter(({ outcome }) => outcome !== 'unchanged');
    const toConfirm =
      target && plan && current && wanted
        ? await removalsToConfirm(agent, { kind: target.kind, plan, desired: wanted, from: current })
        : undefined;
    const waits = toConfirm === undefined ? failedBefore(agent, assignment, desired) : askToPrune(toConfirm);
    return defined({
      assignment,
      changes: changes.map(({ key, outcome, reason }) => ({ key, outcome, reason })),
      waits,
    });
  } catch (cause) {
    checkAborted(signal);
    const error = toFleetError(cause);
    return { assignment, changes: [], error: { code: error.code, message: sentenceOf(error) } };
  }
};

const askToPrune = (message: string): NextChanges['waits'] => ({ code: 'PRUNE_BUDGET', message });

/** A remembered failure of the same package, which is not tried again. */
const failedBefore = (
  { state }: Agent,
  assignment: string,
  desired: PackageRow['desired'],
): NextChanges['waits'] => {
  const failure = findFailure(state, assignment, desired);
  return failure && failure.code !== 'PRUNE_BUDGET'
    ? { code: failure.code, message: describeKnownFailure(assignment, failure) }
    : undefined;
};
