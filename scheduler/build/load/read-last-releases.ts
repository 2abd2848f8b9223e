import { defined } from '#bundles/defined';
import type { LastRelease } from '../../assemble/assemble-environment.ts';
import { type LastGood, NO_LAST_GOOD, readLastGood } from '../../assemble/bundle/last-good-packages.ts';
import { readRolledBack } from '../../assemble/bundle/rolled-back.ts';
import { type GivenCandidate, isOwn } from '../../assemble/candidate/given-candidate.ts';
import { openRegistrations } from '../../assemble/candidate/open-registrations.ts';
import type { ClusterType, Platform } from '../../model/model.ts';
import type { EnvironmentInput } from '../environment-input.ts';

/**
 * Reads the last releases for each cluster type, in the order of the platform. A candidate that is built again names the bundles that
 * supplied packages.
 * @throws FleetError MISSING_BLOB, DIGEST_MISMATCH, LAYOUT_INVALID for a damaged release
 */
export const readLastReleases = async (
  input: Pick<EnvironmentInput, 'previous' | 'rollbacks' | 'candidate'>,
  { environment, clusterTypes }: Pick<Platform, 'environment' | 'clusterTypes'>,
  signal: AbortSignal,
): Promise<ReadonlyMap<ClusterType, LastRelease>> => {
  const { previous, rollbacks, candidate } = input;
  const again = candidate && isOwn(candidate, environment) ? candidate : undefined;
  const found = new Map<ClusterType, LastRelease>();
  for (const clusterType of clusterTypes) {
    const channel = { environment, clusterType: clusterType.name };
    found.set(
      clusterType,
      defined({
        lastGood: await lastGoodOf(previous, environment, clusterType, again),
        rolledBack: await readRolledBack(rollbacks, environment, clusterType, again?.document),
        registrationOf: previous ? openRegistrations(previous, channel, signal) : undefined,
      }),
    );
  }
  return found;
};

const lastGoodOf = async (
  previous: EnvironmentInput['previous'],
  environment: string,
  clusterType: ClusterType,
  again: GivenCandidate | undefined,
): Promise<LastGood> => {
  const kept = again?.document.kept?.find(
    (one) => one.clusterType === clusterType.name && one.assignment === undefined,
  )?.bundle;
  if (!previous || (again && kept === undefined)) return NO_LAST_GOOD;
  return await readLastGood(previous.layout, previous.roots, environment, clusterType, kept);
};
