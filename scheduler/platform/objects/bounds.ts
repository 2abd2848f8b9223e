/** What an application's manifests may write besides objects in the namespace of their own assignment. */
export type Bounds = {
  /** Kinds without a namespace; '*' stands for all. */
  readonly clusterScoped: readonly string[];
  /** Namespaces of others; '*' stands for all. */
  readonly namespaces: readonly string[];
};

/** Annotations of a WorkloadRegistration, which only the platform team writes: names with a comma or space between. */
export const ALLOW_CLUSTER_SCOPED = 'fleet-ferry/allow-cluster-scoped';
export const ALLOW_NAMESPACES = 'fleet-ferry/allow-namespaces';

/** The bounds that a registration's annotations say; undefined where they say nothing. */
export const readBounds = (annotations: Readonly<Record<string, string>>): Bounds | undefined => {
  const [clusterScoped, namespaces] = [ALLOW_CLUSTER_SCOPED, ALLOW_NAMESPACES].map((key) =>
    (annotations[key] ?? '').split(/[\s,]+/).filter((word) => word !== ''),
  );
  if (!clusterScoped?.length && !namespaces?.length) return undefined;
  return { clusterScoped: clusterScoped ?? [], namespaces: namespaces ?? [] };
};
