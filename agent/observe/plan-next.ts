import { toFleetError } from '#bundles/errors';
import type { Outcome } from '#bundles/formats/events/event';
import type { Agent } from '../store/agent.ts';
import { loadPackage } from '../apply/load-package.ts';
import { findRunning } from '../apply/operator/roll-back-package.ts';
import { checkAborted } from '../store/journal/boundary.ts';
import { sentenceOf } from '../store/outbox/sentence-of.ts';
import { readOwned, readTaken } from '../store/applied/inventory.ts';
import { isSame } from '../store/applied/package-ref.ts';
import { isHalfRemoved, type PackageRow, readPackages } from '../store/applied/packages.ts';

/** Changes that the release in force would make to one package; `error`: why they could not be planned. */
export type NextChanges = {
  readonly assignment: string;
  readonly changes: readonly { readonly key: string; readonly outcome: Outcome; readonly reason: string }[];
  readonly error?: { readonly code: string; readonly message: string };
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
  const leaving = new Set(all.filter(({ desired }) => !desired).map(({ assignment }) => assignment));
  const next: NextChanges[] = [];
  for (const row of rows) if (isPending(row)) next.push(await planOne(agent, row, leaving));
  return next;
};

const isPending = (row: PackageRow): boolean =>
  row.pinnedRelease === undefined && !isHalfRemoved(row) && !isSame(row.current, row.desired);

/** @param leaving packages whose objects others may take over, because they are removed last */
const planOne = async (
  { state, identity, targets, signal }: Agent,
  { assignment, desired, current }: PackageRow,
  leaving: ReadonlySet<string>,
): Promise<NextChanges> => {
  checkAborted(signal);
  try {
    const target = targets.find(({ kind }) => kind === (desired ?? current)?.kind);
    const wanted = desired && (await loadPackage(state, identity.agent, desired, signal));
    const taken = new Map([...readTaken(state, assignment)].filter(([, owner]) => !leaving.has(owner)));
    const plan = await target?.plan(wanted, readOwned(state, assignment), taken, signal);
    const changes = (plan?.steps ?? []).filter(({ outcome }) => outcome !== 'unchanged');
    return {
      assignment,
      changes: changes.map(({ key, outcome, reason }) => ({ key, outcome, reason })),
    };
  } catch (cause) {
    checkAborted(signal);
    const error = toFleetError(cause);
    return { assignment, changes: [], error: { code: error.code, message: sentenceOf(error) } };
  }
};
