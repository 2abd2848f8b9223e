import { compareBytes } from '#bundles/digest';
import type { OwnedObject } from '../model/target.ts';
import type { Agent } from '../store/agent.ts';
import { readOwned } from '../store/applied/inventory.ts';
import type { PackageRef } from '../store/applied/package-ref.ts';
import { type PackageRow, readPackages } from '../store/applied/packages.ts';
import { checkAborted } from '../store/journal/boundary.ts';
import { loadPackage, loadWithoutValues } from './load-package.ts';
import { runsAsDesired } from './needed-by.ts';
import type { Origin, OriginOf } from './origin-of.ts';

type Leaving = {
  readonly row: PackageRow;
  readonly from: Origin;
  readonly owned: readonly OwnedObject[];
};

type Pending = PackageRow & { readonly desired: PackageRef };

/**
 * Returns the packages of the release that each leaving package waits for: those that do not run as desired and replace it, take its
 * objects over, or need it as they run now. Only a package of the same workspace or of the platform holds a removal, and a critical
 * package that failed holds all. A leaving package that waits holds those that it depends on in the same way.
 * @param isEarly before the packages of the release were tried: one of any workspace that takes objects over holds their removal
 * @returns names by leaving package, sorted; a package that nothing holds is absent
 */
export const removalHolders = async (
  agent: Agent,
  leaving: readonly PackageRow[],
  { originOf, isEarly }: { readonly originOf: OriginOf; readonly isEarly: boolean },
): Promise<ReadonlyMap<string, readonly string[]>> => {
  const rows = readPackages(agent.state);
  const pending = rows.filter((row): row is Pending => row.desired !== undefined && !runsAsDesired(row));
  const found = new Map<string, Set<string>>();
  if (pending.length === 0) return new Map();
  const workloads = new Set<string | undefined>();
  const before = new Set<string | undefined>();
  for (const { desired, current } of rows) {
    workloads.add((await originOf(desired))?.workload);
    before.add((await originOf(current))?.workload);
  }
  const all: Leaving[] = [];
  for (const row of leaving) {
    const owned = readOwned(agent.state, row.assignment);
    all.push({ row, from: await originOf(row.current), owned });
  }
  const note = (held: string, by: string): void => {
    found.set(held, (found.get(held) ?? new Set()).add(by));
  };
  for (const row of pending) {
    const of = await originOf(row.desired);
    const isStop = row.desired.critical && (row.status === 'failed' || row.status === 'broken');
    const related = all.filter(({ from }) => mayHoldRemoval(of, from));
    const needs = await needsOf(agent, row, related);
    const unrelated = isEarly ? all.filter((one) => !related.includes(one)) : [];
    const taken = await packagesTakenOver(agent, row, unrelated);
    for (const one of all) {
      const { assignment } = one.row;
      const isReplaced =
        row.current === undefined && related.includes(one) && replaces(of, one.from, { workloads, before });
      if (isStop || isReplaced || needs.has(assignment) || taken.has(assignment))
        note(assignment, row.assignment);
    }
  }
  spread(all, note, found);
  return new Map([...found].map(([held, by]) => [held, [...by].toSorted(compareBytes)]));
};

/** Whose failure may hold a removal. A package of unknown origin counts as of the same workspace. */
const mayHoldRemoval = (holder: Origin, held: Origin): boolean =>
  !holder || !held || (holder.workspace ?? '') === '' || holder.workspace === held.workspace;

/**
 * True for a package that never ran here and may be the leaving one under a new name: of the same workload, or of a workload that is new
 * here while that of the leaving one has no package left. A bundle that names no workloads may mean either.
 */
const replaces = (
  comes: Origin,
  goes: Origin,
  here: {
    readonly workloads: ReadonlySet<string | undefined>;
    readonly before: ReadonlySet<string | undefined>;
  },
): boolean => {
  if (comes?.workload === undefined || goes?.workload === undefined) return true;
  if (comes.workload === goes.workload) return true;
  return (
    comes.deploymentTarget === goes.deploymentTarget &&
    !here.workloads.has(goes.workload) &&
    !here.before.has(comes.workload)
  );
};

/** The leaving packages of which a package wants objects, or which it needs as it runs now. */
const needsOf = async (
  agent: Agent,
  { desired, current }: Pending,
  leaving: readonly Leaving[],
): Promise<ReadonlySet<string>> => {
  const keys = ownersOf(leaving);
  const needed = new Set(current?.dependsOn);
  const all = [...keys.keys()];
  for (const key of (await keysClaimed(agent, desired, all)) ?? all) needed.add(keys.get(key) as string);
  if (current)
    for (const key of await keysNamed(agent, current, [...keys.keys()])) needed.add(keys.get(key) as string);
  return new Set(leaving.map(({ row }) => row.assignment).filter((name) => needed.has(name)));
};

/** The leaving packages of which a package takes objects over. A package that cannot be read takes none. */
const packagesTakenOver = async (
  agent: Agent,
  { desired }: Pending,
  leaving: readonly Leaving[],
): Promise<ReadonlySet<string>> => {
  const keys = ownersOf(leaving);
  const claimed = (await keysClaimed(agent, desired, [...keys.keys()])) ?? [];
  return new Set(claimed.map((key) => keys.get(key) as string));
};

const ownersOf = (leaving: readonly Leaving[]): ReadonlyMap<string, string> =>
  new Map(leaving.flatMap(({ row, owned }) => owned.map(({ key }) => [key, row.assignment] as const)));

/** Those of the keys that a package will own; undefined if it cannot be read or its target cannot say. */
const keysClaimed = async (
  { state, targets, signal }: Agent,
  ref: PackageRef,
  keys: readonly string[],
): Promise<readonly string[] | undefined> => {
  const target = targets.find(({ kind }) => kind === ref.kind);
  if (keys.length === 0) return [];
  if (!target?.claims) return undefined;
  try {
    const claims = target.claims(await loadWithoutValues(state, ref, signal));
    const today = (await target.currentKeys?.([...keys, ...claims])) ?? new Map<string, string>();
    const placeOf = (key: string): string => today.get(key) ?? key;
    const places = new Set([...claims].map(placeOf));
    return keys.filter((key) => places.has(placeOf(key)));
  } catch {
    checkAborted(signal);
    return undefined;
  }
};

const keysNamed = async (
  { state, targets, identity, signal }: Agent,
  ref: PackageRef,
  keys: readonly string[],
): Promise<readonly string[]> => {
  const target = targets.find(({ kind }) => kind === ref.kind);
  if (keys.length === 0 || !target?.named) return [];
  try {
    return target.named(await loadPackage(state, identity.agent, ref, signal), keys);
  } catch {
    checkAborted(signal);
    return [];
  }
};

/** Adds the dependencies of packages that wait: these still run. */
const spread = (
  all: readonly Leaving[],
  note: (held: string, by: string) => void,
  found: ReadonlyMap<string, ReadonlySet<string>>,
): void => {
  // Iterating a Map includes entries added meanwhile.
  for (const [name] of found) {
    const holder = all.find(({ row }) => row.assignment === name);
    for (const needed of holder?.row.current?.dependsOn ?? []) {
      const held = all.find(({ row }) => row.assignment === needed);
      if (held && !found.has(needed) && mayHoldRemoval(holder?.from, held.from)) note(needed, name);
    }
  }
};
