import type {
  ClusterType,
  ConfigLayer,
  ConfigSchema,
  DeploymentTarget,
  Platform,
  RenderedPackage,
  SchedulingPolicy,
  Template,
} from '../../scheduler/model/model.ts';

/** Model objects with everything a test does not care about filled in. */

const at = { file: 'platform/x.yaml', line: 1, column: 1 };

export const clusterType = (name: string, more: Partial<ClusterType> = {}): ClusterType => ({
  name,
  labels: {},
  reconciler: 'rec',
  namespaceService: 'ns',
  configType: 'cfg',
  target: 'kubernetes',
  platforms: [],
  offline: false,
  requirements: {},
  at: { ...at, file: `platform/${name}.yaml` },
  ...more,
});

/** `name` as '<workload>/<target>'. */
export const target = (name: string, more: Partial<DeploymentTarget> = {}): DeploymentTarget => {
  const [workload = '', shortName = ''] = name.split('/');
  return {
    name: `${workload}-${shortName}`,
    shortName,
    workload,
    workspace: 'team',
    environment: 'dev',
    labels: { workload, workspace: 'team' },
    manifests: {},
    configSchemas: [],
    dependsOn: [],
    critical: false,
    at: { ...at, file: `apps/${workload}/${shortName}.yaml` },
    ...more,
  };
};

export const layer = (name: string, more: Partial<ConfigLayer> = {}): ConfigLayer => ({
  name,
  selector: {},
  values: {},
  places: Object.fromEntries(
    Object.keys(more.values ?? {}).map((key, index) => [
      key,
      { file: `${name}.yaml`, line: 10 + index, column: 3 },
    ]),
  ),
  from: 'base',
  at: { file: `${name}.yaml`, line: 1, column: 1 },
  ...more,
});

export const schema = (name: string, value: ConfigSchema['schema'], selector = {}): ConfigSchema => ({
  name,
  selector,
  schema: value,
  at: { file: `${name}.yaml`, line: 5, column: 3 },
});

export const policy = (name: string, more: Partial<SchedulingPolicy> = {}): SchedulingPolicy => ({
  name,
  workspace: '',
  targets: { matchLabels: {}, matchExpressions: [] },
  clusterTypes: { matchLabels: {}, matchExpressions: [] },
  at: { ...at, file: `platform/${name}.yaml` },
  ...more,
});

export const template = (name: string, type: Template['type'], ...texts: string[]): Template => ({
  name,
  type,
  engine: 'go',
  contentType: undefined,
  manifests: texts.map((text) => ({ text, at: { ...at, file: `templates/${name}.yaml` }, indent: 0 })),
  at,
});

export const platform = (more: Partial<Platform> = {}): Platform => ({
  form: 'kalypso',
  fleet: 'halden',
  environment: 'dev',
  chain: ['dev'],
  promotedCommit: undefined,
  templates: new Map(
    [
      template('rec', 'reconciler', 'target: {{ .DeploymentTargetName }}\n'),
      template('ns', 'namespace', 'name: {{ .Namespace }}\n'),
      template('cfg', 'config', '{{ toYaml .ConfigData }}\n'),
    ].map((one) => [one.name, one]),
  ),
  clusterTypes: [],
  targets: [],
  policies: [],
  configs: [],
  schemas: [],
  sources: [],
  imageLocks: new Map(),
  repositories: new Map(),
  ...more,
});

/** One target on one type, rendered to nothing yet. */
export const renderedPackage = (
  type: ClusterType,
  shop: DeploymentTarget,
  more: Partial<RenderedPackage> = {},
): RenderedPackage => ({
  assignment: { policy: 'p', clusterType: type, target: shop },
  files: [],
  namespace: `dev-${type.name}-${shop.name}`,
  configData: {},
  ...more,
});

export const renderedFiles = (files: Readonly<Record<string, string>>): RenderedPackage['files'] =>
  Object.entries(files).map(([path, text]) => ({ path, text }));
