import type { FleetSize } from './fleet-size.ts';

/** The content of a fleet, common to both forms. */
export type FleetFacts = {
  readonly clusterTypes: readonly ClusterTypeFacts[];
  readonly workloads: readonly WorkloadFacts[];
  readonly policies: readonly { readonly name: string; readonly ring: string }[];
  readonly configs: readonly ConfigFacts[];
};

export type ClusterTypeFacts = { readonly name: string; readonly labels: Readonly<Record<string, string>> };

export type WorkloadFacts = {
  readonly name: string;
  readonly workspace: string;
  readonly labels: Readonly<Record<string, string>>;
};

export type ConfigFacts = {
  readonly name: string;
  readonly selector: Readonly<Record<string, string>>;
  readonly values: Readonly<Record<string, string>>;
  /** A structured value as JSON, which both forms accept. */
  readonly structured: Readonly<Record<string, object>>;
};

const REGIONS = 10;
const WORKSPACES = 25;

const numbered = (name: string, at: number): string => `${name}-${String(at).padStart(4, '0')}`;

/** A fleet's facts. `share` 1/n: workloads and cluster types fall in n rings, and each ring's run on its own alone. */
export const fleetFacts = ({ workloads, clusterTypes, configs, share }: FleetSize): FleetFacts => {
  const rings = Math.round(1 / share);
  const times = <T>(count: number, make: (at: number) => T): readonly T[] =>
    Array.from({ length: count }, (_, at) => make(at));
  return {
    clusterTypes: times(clusterTypes, (at) => ({
      name: numbered('type', at),
      labels: {
        region: `region-${at % REGIONS}`,
        size: ['small', 'large'][at % 2] ?? '',
        ring: `ring-${at % rings}`,
      },
    })),
    workloads: times(workloads, (at) => ({
      name: numbered('app', at),
      workspace: `team-${at % WORKSPACES}`,
      labels: { tier: ['front', 'back', 'batch'][at % 3] ?? '', ring: `ring-${at % rings}` },
    })),
    policies: times(rings, (at) => ({ name: `ring-${at}`, ring: `ring-${at}` })),
    configs: [everywhere, ...times(Math.max(1, configs - 1), (at) => configAt(at, workloads, clusterTypes))],
  };
};

const everywhere: ConfigFacts = {
  name: 'c00-everywhere',
  selector: {},
  values: { LOG_LEVEL: 'info', REGISTRY: 'registry.example.com', TIMEZONE: 'Europe/Oslo' },
  structured: { database: { host: 'db.internal', port: 5432, pool: { min: 2, max: 20 } } },
};

/** The pieces select, in turn, a cluster type, a region, a workspace, a workload, and the back ends of a region. */
const configAt = (at: number, workloads: number, clusterTypes: number): ConfigFacts => {
  const turn = Math.floor(at / 5);
  const config = (
    kind: string,
    selector: ConfigFacts['selector'],
    values: ConfigFacts['values'],
  ): ConfigFacts => ({
    name: `${kind}-${turn}`,
    selector,
    values,
    structured: kind === 'c20-region' ? { database: { host: `db-${turn}.internal`, pool: { max: 40 } } } : {},
  });
  switch (at % 5) {
    case 0:
      return config(
        'c50-type',
        { 'cluster-type': numbered('type', turn % clusterTypes) },
        { UPLINK: `vpn-${turn}` },
      );
    case 1:
      return config(
        'c20-region',
        { region: `region-${turn % REGIONS}` },
        { TIMEZONE: `Etc/GMT-${turn % 12}` },
      );
    case 2:
      return config(
        'c30-team',
        { workspace: `team-${turn % WORKSPACES}` },
        { ALERTS: `team-${turn}@example.com` },
      );
    case 3:
      return config(
        'c60-app',
        { workload: numbered('app', turn % workloads) },
        { WORKERS: String(turn + 2) },
      );
    default:
      return config(
        'c40-tier',
        { region: `region-${turn % REGIONS}`, tier: 'back' },
        { CACHE: `redis-${turn}:6379` },
      );
  }
};
