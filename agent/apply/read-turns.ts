import { compareBytes } from '#bundles/digest';
import type { Agent } from '../store/agent.ts';
import { isSamePackage, type PackageRef } from '../store/applied/package-ref.ts';
import { findPackage } from '../store/applied/packages.ts';
import { checkAborted } from '../store/journal/boundary.ts';
import { loadWithoutValues } from './load-package.ts';
import { openOrigins } from './origin-of.ts';

/** The packages of a workspace that may take no longer than this together go in the first turn, by name. */
const FIRST_SECONDS = 300;

/**
 * The turn of each package that is to be applied: how many seconds its workspace's packages up to it may take, the quick ones first; 0 for up
 * to 300. In the order of turns a package waits for each other workspace no longer than it may keep that one waiting, or 300 seconds.
 */
export const readTurns = async (
  agent: Agent,
  refs: readonly PackageRef[],
): Promise<ReadonlyMap<string, number>> => {
  const pending = refs.filter(
    (ref) => !isSamePackage(findPackage(agent.state, ref.assignment)?.current, ref),
  );
  const originOf = openOrigins(agent);
  const timed: { readonly assignment: string; readonly workspace: string; readonly seconds: number }[] = [];
  for (const ref of pending) {
    const workspace = (await originOf(ref))?.workspace ?? '';
    timed.push({ assignment: ref.assignment, workspace, seconds: await secondsOf(agent, ref) });
  }
  const turns = new Map<string, number>();
  for (const own of Map.groupBy(timed, ({ workspace }) => workspace).values()) {
    let turn = 0;
    for (const { assignment, seconds } of own.toSorted(bySeconds)) {
      turn += seconds;
      turns.set(assignment, turn > FIRST_SECONDS ? turn : 0);
    }
  }
  return turns;
};

type Timed = { readonly assignment: string; readonly seconds: number };

const bySeconds = (a: Timed, b: Timed): number =>
  (a.seconds === b.seconds ? 0 : a.seconds - b.seconds) || compareBytes(a.assignment, b.assignment);

/** The longest time that a package may take by its own timeouts; 0 for one that cannot be read, as it fails at once. */
export const secondsOf = async ({ state, targets, signal }: Agent, ref: PackageRef): Promise<number> => {
  const { seconds = 0 } = targets.find(({ kind }) => kind === ref.kind) ?? {};
  if (typeof seconds === 'number') return seconds;
  try {
    return seconds(await loadWithoutValues(state, ref, signal));
  } catch {
    checkAborted(signal);
    return 0;
  }
};
