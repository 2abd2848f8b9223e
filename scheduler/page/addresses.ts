/** Addresses of all views below /ui/, as patterns of the router. The tests visit each of them. */
export const ADDRESSES = [
  '',
  'workloads',
  'workloads/:workload',
  'where',
  'compare',
  'pipeline',
  'rollouts',
  'media',
  'alarms',
  'sessions',
  'audit',
  'search',
  'values',
  'values/:site',
  'values/select/sites',
  'platform',
  'platform/edit',
  'sites',
  'sites/:site/:agent/:assignment',
  'sites/:site',
] as const;

export type Address = (typeof ADDRESSES)[number];
