import type { ClusterType, DeploymentTarget, Labels } from '../../model/model.ts';

/**
 * Whether a selector matches a pair of deployment target and cluster type. Each label must match one of the two; three keys
 * match names instead of labels (behaviour spec 2.4).
 */
export const matchSelector = (
  selector: Labels,
  clusterType: ClusterType,
  target: DeploymentTarget,
): boolean =>
  Object.entries(selector).every(
    ([key, value]) => matchesClusterType(key, value, clusterType) || matchesTarget(key, value, target),
  );

/** Whether one label of a selector matches the cluster type. */
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

/** Whether one label of a selector matches the deployment target. */
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

/** An absent label equals an empty one. */
const labelOf = (labels: Labels, key: string): string =>
  Object.hasOwn(labels, key) ? (labels[key] ?? '') : '';
