import type { Agent } from '../store/agent.ts';
import { isSame, type PackageRef } from '../store/applied/package-ref.ts';
import { findPackage } from '../store/applied/packages.ts';
import { checkAborted } from '../store/journal/boundary.ts';
import { loadWithoutValues } from './load-package.ts';

/** Packages that may take longer by their own timeouts go after all others that do not depend on them. */
const SLOW_SECONDS = 300;

/** The seconds of each package that is to be applied and is slow, by name; empty if there is only one to apply. */
export const readSlow = async (
  agent: Agent,
  refs: readonly PackageRef[],
): Promise<ReadonlyMap<string, number>> => {
  const pending = refs.filter((ref) => !isSame(findPackage(agent.state, ref.assignment)?.current, ref));
  const slow = new Map<string, number>();
  if (pending.length < 2) return slow;
  for (const ref of pending) {
    const seconds = await secondsIfSlow(agent, ref);
    if (seconds !== undefined) slow.set(ref.assignment, seconds);
  }
  return slow;
};

/** The seconds of a package that may take long; undefined for any other, and for one that cannot be read, as it fails at once. */
export const secondsIfSlow = async (
  { state, targets, signal }: Agent,
  ref: PackageRef,
): Promise<number | undefined> => {
  const { seconds } = targets.find(({ kind }) => kind === ref.kind) ?? {};
  if (!seconds) return undefined;
  try {
    const found = seconds(await loadWithoutValues(state, ref, signal));
    return found > SLOW_SECONDS ? found : undefined;
  } catch {
    checkAborted(signal);
    return undefined;
  }
};
