/** A platform whose sites take values from layers. Every assignment asks for two of them. */
import { ours } from '../../test/scheduler/fleet-platform.ts';

/** Its one channel. */
export const CHANNEL = { environment: 'prod', clusterType: 'press' };

/** Labels of the sites. Every third one is in the region north, whose layers have values of their own. */
export const labelsOf = (index: number): Readonly<Record<string, string>> => ({
  region: REGIONS[index % REGIONS.length] ?? '',
  kind: 'plant',
  line: index % 2 === 0 ? 'a' : 'b',
});

const REGIONS = ['north', 'south', 'west'];

const config = (name: string, spec: string): string => ours('Config', name, `spec:\n  ${spec}\n`);

/** @param host value of the region north */
export const layers = (host: string): string =>
  [
    config('company', 'siteSelector: {}\n  values: {gatewayHost: company, port: 80}'),
    config('north', `siteSelector: {region: north}\n  values: {gatewayHost: ${host}}`),
    config('plants', 'siteSelector: {region: north, kind: plant}\n  values: {port: 81}'),
    config(
      'line',
      'selector: {workload: app-7}\n  siteSelector: {region: north, kind: plant, line: a}\n  values: {port: 82}',
    ),
  ].join('---\n');

const application = (name: string): Record<string, string> => ({
  [`platform/base/${name}.yaml`]: ours(
    'WorkloadRegistration',
    name,
    `spec:\n  workspace: line\n  workload: {repo: ../apps/${name}, path: deploy}\n`,
  ),
  [`apps/${name}/deploy/workload.yaml`]: ours(
    'Workload',
    name,
    'spec:\n  deploymentTargets: [{name: host, environment: prod, manifests: {path: host}}]\n',
  ),
  [`apps/${name}/host/package.yaml`]: ours(
    'HostPackage',
    'files',
    `spec:
  files: [{path: /etc/${name}/line.env, format: env, content: "GATEWAY=none\\nPORT=0\\n"}]
  siteInputs:
    - {name: gatewayHost, schema: {type: string}, file: /etc/${name}/line.env, pointer: /GATEWAY}
    - {name: port, schema: {type: integer}, file: /etc/${name}/line.env, pointer: /PORT}
`,
  ),
});

/** Files by path: `platform`, and `apps` beside it. */
export const layeredPlatform = (fleet: string, assignments: number): Record<string, string> => ({
  'platform/fleet.yaml': ours('Fleet', fleet, 'spec:\n  environments: [{name: prod}]\n'),
  'platform/base/press.yaml': ours('ClusterType', 'press', 'spec: {target: host}\n'),
  'platform/base/policy.yaml': ours(
    'SchedulingPolicy',
    'all',
    'spec:\n  deploymentTargetSelector: {workspace: line}\n  clusterTypeSelector: {}\n',
  ),
  'platform/base/layers.yaml': layers('n1'),
  ...Object.assign({}, ...Array.from({ length: assignments }, (_, index) => application(`app-${index}`))),
});
