/** A small platform of our own form as a set of files; applications lie beside it. */

export const ours = (kind: string, name: string, rest: string): string =>
  `apiVersion: fleet-ferry/v1alpha1\nkind: ${kind}\nmetadata:\n  name: ${name}\n${rest}`;

/** One application, shop, on one cluster type, edge, that a platform with these environments schedules and Flux follows. */
export const shopByFlux = (
  fleet: string,
  environments: readonly string[],
  settings: object,
): Record<string, string> => ({
  'platform/fleet.yaml': ours(
    'Fleet',
    fleet,
    `spec:\n  environments: ${JSON.stringify(environments.map((name, at) => ({ name, ...(at > 0 && { promotedFrom: environments[at - 1] }) })))}\n`,
  ),
  'platform/base/edge.yaml': ours(
    'ClusterType',
    'edge',
    'spec: {reconciler: flux-oci, namespaceService: namespace}\n',
  ),
  'platform/base/all.yaml': ours(
    'SchedulingPolicy',
    'all',
    'spec:\n  deploymentTargetSelector: {workspace: sales}\n  clusterTypeSelector: {}\n',
  ),
  'platform/base/config.yaml': ours(
    'Config',
    'all',
    `spec:\n  values: ${JSON.stringify({ reconciler: settings })}\n`,
  ),
  'platform/base/shop.yaml': ours(
    'WorkloadRegistration',
    'shop',
    'spec:\n  workspace: sales\n  workload: {repo: ../apps/shop, path: deploy}\n',
  ),
  'apps/shop/deploy/shop.yaml': ours(
    'Workload',
    'shop',
    `spec:\n  deploymentTargets: [{name: web, environment: ${environments[0]}, manifests: {path: manifests}}]\n`,
  ),
});

export const fleetPlatform = (): Record<string, string> => ({
  'platform/fleet.yaml': ours('Fleet', 'halden', 'spec:\n  environments: [{name: qa}, {name: prod}]\n'),
  'platform/base/edge.yaml': ours('ClusterType', 'edge', '  labels: {region: eu}\nspec: {}\n'),
  'platform/base/press.yaml': ours('ClusterType', 'press', '  labels: {region: eu}\nspec: {target: host}\n'),
  'platform/base/everything.yaml': ours(
    'SchedulingPolicy',
    'everything',
    'spec:\n  deploymentTargetSelector: {workspace: sales}\n  clusterTypeSelector: {}\n',
  ),
  'platform/base/shop.yaml': ours(
    'WorkloadRegistration',
    'shop',
    'spec:\n  workspace: sales\n  workload: {repo: ../apps/shop, path: ./deploy/}\n',
  ),
  'platform/base/config.yaml': ours(
    'Config',
    'defaults',
    'spec:\n  values: {LOG: info, PORT: 80, DB: {size: 1}}\n',
  ),
  'platform/environments/prod/config.yaml': ours('Config', 'sizes', 'spec:\n  values: {DB: {size: 9}}\n'),
  'apps/shop/deploy/shop.yaml': ours(
    'Workload',
    'shop',
    `spec:
  deploymentTargets:
    - {name: web, environment: qa, manifests: {path: host}}
    - {name: web, environment: prod, manifests: {path: host}}
`,
  ),
  'apps/shop/host/package.yaml': ours(
    'HostPackage',
    'web',
    'spec:\n  directories: [{path: /opt/shop/web}]\n',
  ),
});
