export type FleetSize = {
  readonly workloads: number;
  readonly clusterTypes: number;
  /** Number of labelled configurations. */
  readonly configs: number;
  /** Of all pairs of workload and cluster type, how many are assignments: 1, or 1/2, 1/3 ... */
  readonly share: number;
};
