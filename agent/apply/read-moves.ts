import type { Agent } from '../store/agent.ts';
import { checkAborted } from '../store/journal/boundary.ts';
import { findFailure } from '../store/applied/failures.ts';
import { readOwned } from '../store/applied/inventory.ts';
import { isSamePackage, type PackageRef } from '../store/applied/package-ref.ts';
import { readPackages } from '../store/applied/packages.ts';
import { loadPackage } from './load-package.ts';
import type { OwnedObject } from '../model/target.ts';

/** An object that one package owns and no longer wants, and that another package of the release wants now. */
export type Move = { readonly object: OwnedObject; readonly from: string; readonly to: string };

/**
 * Finds objects that move between packages that stay, if neither has been applied yet. Ignores packages that cannot be read,
 * or that failed and are not retried. @throws FleetError ABORTED
 */
export const readMoves = async (agent: Agent): Promise<readonly Move[]> => {
  const { state } = agent;
  const changing = readPackages(state).flatMap(({ assignment, current, desired, pinnedRelease }) => {
    const isTried = desired && pinnedRelease === undefined && !findFailure(state, assignment, desired);
    return isTried && !isSamePackage(current, desired)
      ? [{ desired, owned: readOwned(state, assignment) }]
      : [];
  });
  if (changing.length < 2 || changing.every(({ owned }) => owned.length === 0)) return [];
  const read: { assignment: string; owned: readonly OwnedObject[]; wants: ReadonlySet<string> }[] = [];
  for (const { desired, owned } of changing) {
    const wants = await wantedKeys(agent, desired);
    if (wants) read.push({ assignment: desired.assignment, owned, wants });
  }
  return read.flatMap(({ assignment: from, owned, wants }) =>
    owned
      .filter(({ key }) => !wants.has(key))
      .flatMap((object) => {
        const taker = read.find((other) => other.wants.has(object.key));
        return taker ? [{ object, from, to: taker.assignment }] : [];
      }),
  );
};

const wantedKeys = async (agent: Agent, ref: PackageRef): Promise<ReadonlySet<string> | undefined> => {
  const target = agent.targets.find(({ kind }) => kind === ref.kind);
  if (!target?.wants) return undefined;
  try {
    return target.wants(await loadPackage(agent.state, agent.identity.agent, ref, agent.signal));
  } catch {
    // The apply of this package will report the error.
    checkAborted(agent.signal);
    return undefined;
  }
};
