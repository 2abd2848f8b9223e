import { FleetError } from '#bundles/errors';
import type { ClusterType } from '../../../model/model.ts';
import { kubernetesFacts } from './facts.ts';
import { targetVersions } from './target-versions.ts';

/**
 * Warns of cluster types whose Kubernetes versions are all unknown, so that their objects are not checked. An invalid range
 * is reported elsewhere.
 */
export const unjudgedTypes = (clusterTypes: readonly ClusterType[]): readonly FleetError[] => {
  if (!clusterTypes.some(({ requirements }) => requirements.kubernetes !== undefined)) return [];
  const { first, last } = kubernetesFacts();
  return clusterTypes
    .filter(({ target, requirements }) => target === 'kubernetes' && isUnknown(requirements.kubernetes))
    .map(
      ({ name, requirements, at }) =>
        new FleetError(
          'UNSUPPORTED',
          `what is rendered for Kubernetes ${requirements.kubernetes} is not judged`,
          { subject: `ClusterType ${name}`, at, hint: `Known types: 1.${first} to 1.${last}` },
        ),
    );
};

/** @throws FleetError USAGE when no known version matches the range, FIELD_INVALID when it is invalid */
export const checkRange = (range: string): void => {
  if (!isOutside(range)) return;
  const { first, last } = kubernetesFacts();
  throw new FleetError('USAGE', `--kubernetes ${range} names no known version`, {
    hint: `Known types: 1.${first} to 1.${last}`,
  });
};

const isUnknown = (range: string | undefined): boolean => {
  if (range === undefined) return false;
  try {
    return isOutside(range);
  } catch {
    return false;
  }
};

const isOutside = (range: string): boolean => {
  const { first, last } = kubernetesFacts();
  return targetVersions(range, first, last).minors.length === 0;
};
