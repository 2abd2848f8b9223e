import { packageDigest } from '#bundles/bundle/package-digest';
import { isFleetError } from '#bundles/errors';
import type { SealedSet } from '#bundles/secrets/secret-set';
import type { Agent } from '../agent.ts';
import { filesOf } from '../apply/unpacked-layer.ts';
import { checkAborted } from '../journal/boundary.ts';
import type { PackageRef } from '../store/package-ref.ts';
import { findSetsUsed, type SetsUsed, saveSetsUsed } from '../store/secret-sets.ts';
import type { State } from '../store/state.ts';
import { setsUsed } from './sets-used.ts';

/**
 * Says of each package which sealed sets go into it, so that a changed set changes what the package is, and no other one.
 * A set that the site does not have is left out: the package fails by name when it is applied, and is another one when the
 * set comes. The packages' layers must be in the store. @throws FleetError ABORTED
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
  // What cannot be unpacked, or is not what the digest says, is told when the package is applied; nothing is remembered of it.
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
