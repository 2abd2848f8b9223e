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
 * or that failed and are not retried. @param from the package that owns them; absent: any @throws FleetError ABORTED
 */
export const readMoves = async (agent: Agent, from?: string): Promise<readonly Move[]> => {
  const { state } = agent;
  const changing = readPackages(state).flatMap(({ assignment, current, desired, pinnedRelease }) => {
    const isTried = desired && pinnedRelease === undefined && !findFailure(state, assignment, desired);
    return isTried && !isSamePackage(current, desired) ? [desired] : [];
  });
  if (changing.length < 2) return [];
  const wants = new Map<string, ReadonlySet<string>>();
  const given: { readonly object: OwnedObject; readonly from: string }[] = [];
  for (const desired of changing) {
    const { assignment } = desired;
    if (from !== undefined && from !== assignment) continue;
    const owned = readOwned(state, assignment);
    const keys = owned.length > 0 ? await wantedKeys(agent, desired) : undefined;
    if (!keys) continue;
    wants.set(assignment, keys);
    given.push(...owned.filter(({ key }) => !keys.has(key)).map((object) => ({ object, from: assignment })));
  }
  // Most releases move nothing, and then the other packages are not read.
  if (given.length === 0) return [];
  for (const desired of changing) {
    if (wants.has(desired.assignment)) continue;
    const keys = await wantedKeys(agent, desired);
    if (keys) wants.set(desired.assignment, keys);
  }
  const takerOf = (key: string): string | undefined =>
    changing.find(({ assignment }) => wants.get(assignment)?.has(key))?.assignment;
  return given.flatMap(({ object, from: giver }) => {
    const to = takerOf(object.key);
    return to === undefined ? [] : [{ object, from: giver, to }];
  });
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
