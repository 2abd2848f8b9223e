/** The platform of the demo: three environments in a chain, two cluster types, three applications. */

const ours = (kind: string, name: string, rest: string): string =>
  `apiVersion: fleet-ferry/v1alpha1\nkind: ${kind}\nmetadata:\n  name: ${name}\n${rest}`;

const ENVIRONMENTS = ['dev', 'qa', 'prod'] as const;

export const APPLICATIONS = ['label-printer', 'oven-control', 'scale-reader'] as const;
export type Application = (typeof APPLICATIONS)[number];

/** Labels of the cluster types that run an application. */
const PLACES: Readonly<Record<Application, string>> = {
  'label-printer': 'all: "yes"',
  'oven-control': 'place: hall',
  'scale-reader': 'place: shop',
};

const registration = (name: Application, repo: string): string =>
  [
    ours(
      'WorkloadRegistration',
      name,
      `spec:\n  workspace: plants\n  workload: {repo: ${JSON.stringify(repo)}, branch: main, path: deploy}\n`,
    ),
    ours(
      'SchedulingPolicy',
      name,
      `spec:\n  deploymentTargetSelector: {labelSelector: {matchLabels: {runs: ${name}}}}\n  clusterTypeSelector: {labelSelector: {matchLabels: {${PLACES[name]}}}}\n`,
    ),
  ].join('---\n');

/** Where an application runs, as its team says it. */
export const deploymentOf = (name: Application): Readonly<Record<string, string>> => ({
  'deploy/workload.yaml': ours(
    'Workload',
    name,
    `spec:\n  deploymentTargets:\n${ENVIRONMENTS.map(
      (environment) =>
        `    - {name: host, environment: ${environment}, labels: {runs: ${name}}, manifests: {path: host}}\n`,
    ).join('')}`,
  ),
});

/** Lines of a package for two values that differ by site, and the file that they go into. @param limit lines of the first value */
const inputs = (name: string, limit: readonly string[]): string =>
  [
    '  files:',
    `    - {path: /etc/${name}/settings.json, source: settings.json, format: json}`,
    '  siteInputs:',
    ...limit,
    `      file: /etc/${name}/settings.json`,
    '      pointer: /limit',
    '    - name: gateway',
    '      title: Gateway of the site',
    '      editableBy: network',
    '      schema: {type: string, maxLength: 253, description: Host that readings are sent to.}',
    '      default: gateway.halden.example',
    `      file: /etc/${name}/settings.json`,
    '      pointer: /gateway',
    '',
  ].join('\n');

const INPUTS: Readonly<Record<string, string>> = {
  'oven-control': inputs('oven-control', [
    '    - name: maxCelsius',
    '      title: Highest temperature',
    '      unit: °C',
    '      editableBy: site',
    '      schema: {type: integer, minimum: 100, maximum: 400, description: The ovens stop above it.}',
    '      default: 240',
  ]),
  'scale-reader': inputs('scale-reader', [
    '    - name: maxKilograms',
    '      title: Heaviest load',
    '      unit: kg',
    '      editableBy: site',
    '      schema: {type: integer, minimum: 1, maximum: 60, description: The scale reports an error above it.}',
    '      default: 15',
  ]),
};

/** The file of an application whose values differ by site. */
const settingsOf = (name: string): Readonly<Record<string, string>> =>
  INPUTS[name] === undefined
    ? {}
    : { 'host/settings.json': `${JSON.stringify({ limit: 0, gateway: '' })}\n` };

/** Files of an application at a version. */
export const versionOf = (name: Application, version: number): Readonly<Record<string, string>> => ({
  'host/package.yaml': ours(
    'HostPackage',
    'files',
    `spec:\n  directories: [{path: /opt/${name}/${version}}]\n${INPUTS[name] ?? ''}`,
  ),
  ...settingsOf(name),
  // The team's delivery says which version this is; the commit is that of its repository.
  'host/descriptor.yaml': [
    'apiVersion: hub.kalypso.io/v1alpha1',
    'kind: DeploymentDescriptor',
    `metadata: {name: ${name}}`,
    'spec:',
    `  workloadVersion: {version: "${version}.${name.length % 4}.0"}`,
    '',
  ].join('\n'),
});

/** @param urlOf address of an application's repository */
export const companyOf = (urlOf: (name: Application) => string): Readonly<Record<string, string>> => ({
  'fleet-scheduler.yaml': 'platform: platform\nkeys: keys\nlayout: releases\ncache: cache\ndb: hub.db\n',
  'platform/fleet.yaml': ours(
    'Fleet',
    'halden',
    'spec:\n  environments:\n    - {name: dev}\n    - {name: qa, promotedFrom: dev}\n    - {name: prod, promotedFrom: qa}\n',
  ),
  'platform/base/press.yaml': ours(
    'ClusterType',
    'press',
    '  labels: {place: hall, all: "yes"}\nspec: {target: host}\n',
  ),
  'platform/base/till.yaml': ours(
    'ClusterType',
    'till',
    '  labels: {place: shop, all: "yes"}\nspec: {target: host}\n',
  ),
  'platform/base/sites.yaml': [
    ours('Config', 'company', 'spec:\n  siteSelector: {}\n  values: {maxCelsius: 220}\n'),
    ours(
      'Config',
      'north',
      'spec:\n  siteSelector: {region: north}\n  values: {gateway: gateway.north.halden.example}\n',
    ),
    ours(
      'Config',
      'north-line-1',
      'spec:\n  siteSelector: {region: north, line: line-1}\n  values: {maxCelsius: 260}\n',
    ),
  ].join('---\n'),
  ...Object.fromEntries(
    APPLICATIONS.map((name) => [`platform/base/${name}.yaml`, registration(name, urlOf(name))]),
  ),
  'platform/promotion/freshness.yaml': ENVIRONMENTS.map((environment) =>
    ours(
      'FreshnessPolicy',
      environment,
      `spec:\n  environment: ${environment}\n  late: 2d\n  stale: 21d\n  visits: 7d\n`,
    ),
  ).join('---\n'),
});

/** Added with the third version of the scale reader, which is therefore rolled out in stages. */
export const IN_STAGES: Readonly<Record<string, string>> = {
  'platform/promotion/prod-rings.yaml': ours(
    'RolloutPolicy',
    'prod-rings',
    'spec:\n  environment: prod\n  stages:\n    - {name: pilot, percent: 10}\n    - {name: half, percent: 50, soak: 24h, maxFailures: 5%}\n    - {name: all, percent: 100}\n',
  ),
};

/** Added with the newest version of the ovens. */
export const STRICT: Readonly<Record<string, string>> = {
  'platform/promotion/qa-to-prod.yaml': ours(
    'PromotionPolicy',
    'qa-to-prod',
    'spec:\n  from: qa\n  to: prod\n  mode: manual\n  compliance: {percent: 95, atLeast: 3, of: enrolled}\n  soak: 12h\n  approvals: {required: 2}\n',
  ),
};

/** Added with the newest version of the labels, which dev has to show for some days. */
export const SHOWN: Readonly<Record<string, string>> = {
  'platform/promotion/dev-to-qa.yaml': ours(
    'PromotionPolicy',
    'dev-to-qa',
    'spec:\n  from: dev\n  to: qa\n  mode: manual\n  compliance: {percent: 95, of: enrolled}\n  soak: 72h\n',
  ),
};
