import type { ClusterType, DeploymentTarget, Labels } from '../platform/model.ts';

/**
 * Does a selector speak of this deployment target on this cluster type? Every label must match, each on either of the
 * two; three keys name things instead of labels (behaviour spec 2.4).
 */
export const matchSelector = (
  selector: Labels,
  clusterType: ClusterType,
  target: DeploymentTarget,
): boolean =>
  Object.entries(selector).every(
    ([key, value]) => matchesClusterType(key, value, clusterType) || matchesTarget(key, value, target),
  );

/** One label of a selector against the cluster type alone. */
export const matchesClusterType = (key: string, value: string, clusterType: ClusterType): boolean => {
  switch (key) {
    case 'cluster-type':
      return clusterType.name === value;
    case 'deployment-target':
    case 'workload':
      return false;
    default:
      return labelOf(clusterType.labels, key) === value;
  }
};

/** One label of a selector against the deployment target alone. */
export const matchesTarget = (key: string, value: string, target: DeploymentTarget): boolean => {
  switch (key) {
    case 'cluster-type':
      return false;
    case 'deployment-target':
      return target.name === value;
    case 'workload':
      return target.workload === value;
    default:
      return labelOf(target.labels, key) === value;
  }
};

/** An absent label counts as an empty one. */
const labelOf = (labels: Labels, key: string): string =>
  Object.hasOwn(labels, key) ? (labels[key] ?? '') : '';
