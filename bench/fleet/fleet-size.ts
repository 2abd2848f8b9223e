export type FleetSize = {
  readonly workloads: number;
  readonly clusterTypes: number;
  /** Pieces of labelled configuration; each speaks of some region, workspace, cluster type or workload. */
  readonly configs: number;
  /** Of all pairs of workload and cluster type, how many are assignments: 1, or 1/2, 1/3 ... */
  readonly share: number;
};
