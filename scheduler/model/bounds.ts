/** Objects that an application's manifests may have besides those in the namespace of their assignment. */
export type Bounds = {
  /** Cluster-scoped kinds; '*' means all. */
  readonly clusterScoped: readonly string[];
  /** Other namespaces; '*' means all. */
  readonly namespaces: readonly string[];
};

/** Annotations of a WorkloadRegistration, which only the platform team writes: names separated by commas or spaces. */
export const ALLOW_CLUSTER_SCOPED = 'fleet-ferry/allow-cluster-scoped';
export const ALLOW_NAMESPACES = 'fleet-ferry/allow-namespaces';
/** Names of its Workloads besides its own name; selectors of the platform may mean them. */
export const ALLOW_WORKLOADS = 'fleet-ferry/allow-workloads';

/** The bounds in a registration's annotations; undefined without any. */
export const readBounds = (annotations: Readonly<Record<string, string>>): Bounds | undefined => {
  const [clusterScoped, namespaces] = [ALLOW_CLUSTER_SCOPED, ALLOW_NAMESPACES].map((key) =>
    namesIn(annotations[key]),
  );
  if (!clusterScoped?.length && !namespaces?.length) return undefined;
  return { clusterScoped: clusterScoped ?? [], namespaces: namespaces ?? [] };
};

/** Names of Workloads that the platform gives a registration. */
export const readWorkloadNames = (annotations: Readonly<Record<string, string>>): readonly string[] =>
  namesIn(annotations[ALLOW_WORKLOADS]);

const namesIn = (text = ''): readonly string[] => text.split(/[\s,]+/).filter((word) => word !== '');
