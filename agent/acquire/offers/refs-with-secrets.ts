import { packageDigest } from '#bundles/formats/bundle/package-digest';
import { isFleetError } from '#bundles/errors';
import type { SealedSet } from '#bundles/trust/secrets/secret-set';
import type { Agent } from '../../store/agent.ts';
import { filesOf } from '../../store/unpacked-layer.ts';
import { checkAborted } from '../../store/journal/boundary.ts';
import type { PackageRef } from '../../store/applied/package-ref.ts';
import { findSetsUsed, type SetsUsed, saveSetsUsed } from '../../store/secret-sets.ts';
import type { State } from '../../store/state.ts';
import { setsUsed } from '../../secrets/sets-used.ts';

/**
 * Adds to each package the sealed sets that it uses, so that a changed set changes the identity of exactly those packages. A
 * set that the site lacks is omitted: applying the package fails with SECRET_MISSING, and its identity changes when the set
 * arrives. The layers of the packages must be in the store. @throws FleetError ABORTED
 */
export const refsWithSecrets = async (
  { state, signal }: Pick<Agent, 'state' | 'signal'>,
  packages: readonly PackageRef[],
  sets: readonly SealedSet[],
): Promise<readonly PackageRef[]> => {
  if (sets.length === 0) return packages;
  const found: PackageRef[] = [];
  for (const ref of packages) {
    const used = await usedBy(state, ref, signal);
    const secrets = used === 'all' ? sets : sets.filter(({ name }) => used.includes(name));
    found.push(secrets.length === 0 ? ref : { ...ref, secrets });
  }
  return found;
};

const usedBy = async (state: State, ref: PackageRef, signal: AbortSignal): Promise<SetsUsed> => {
  const known = findSetsUsed(state, ref.package);
  if (known) return known;
  const files = await readFiles(state, ref, signal);
  // A layer that cannot be unpacked or does not match its digest is reported by the apply and not cached.
  if (!files || packageDigest([...files].map(([path, bytes]) => ({ path, bytes }))) !== ref.package)
    return 'all';
  const used = setsUsed(ref.kind, files);
  saveSetsUsed(state, ref.package, used);
  return used;
};

const readFiles = async (
  state: State,
  ref: PackageRef,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Buffer> | undefined> => {
  try {
    return await filesOf(state, ref, signal);
  } catch (error) {
    checkAborted(signal);
    if (isFleetError(error)) return undefined;
    throw error;
  }
};
