import type { Digest } from '#bundles/digest';
import type { BundleAssignment } from '#bundles/formats/bundle/config';
import { type Bundle, readBundle } from '#bundles/formats/bundle/read-bundle';
import type { Agent } from '../store/agent.ts';
import type { PackageRef } from '../store/applied/package-ref.ts';
import { checkAborted } from '../store/journal/boundary.ts';

/** Fields of a package in its bundle; undefined if its bundle cannot be read any more. */
export type Origin = Pick<BundleAssignment, 'workspace' | 'workload' | 'deploymentTarget'> | undefined;

export type OriginOf = (ref: PackageRef | undefined) => Promise<Origin>;

/** Reads each bundle once. The returned function rejects with ABORTED only. */
export const openOrigins = ({ state, signal }: Pick<Agent, 'state' | 'signal'>): OriginOf => {
  const known = new Map<Digest, Promise<Bundle | undefined>>();
  return async (ref) => {
    if (!ref) return undefined;
    const { bundle, assignment } = ref;
    const read = known.get(bundle) ?? readBundle(state.blobs, bundle, signal).catch(() => undefined);
    known.set(bundle, read);
    const found = await read;
    checkAborted(signal);
    return found?.config.assignments.find(({ id }) => id === assignment);
  };
};
