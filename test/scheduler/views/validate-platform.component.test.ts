import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { formatError } from '../../../bundles/errors.ts';
import { formatFinding } from '../../../scheduler/plan/validate/group-findings.ts';
import { validatePlatform } from '../../../scheduler/views/validate-platform.ts';
import { temporaryDirectory, writeFiles } from '../file-tree.ts';
import { fleetPlatform, ours } from '../fleet-platform.ts';

const validate = async (more: Readonly<Record<string, string>>) => {
  const directory = await temporaryDirectory();
  await writeFiles(directory, { ...fleetPlatform(), ...more });
  const found = await validatePlatform({
    platform: join(directory, 'platform'),
    maps: [],
    cacheDirectory: join(directory, 'cache'),
    env: {},
  });
  const said = (errors: readonly Parameters<typeof formatError>[0][]) =>
    errors.map((error) => formatError(error).replaceAll(`${directory}/`, ''));
  return { ...found, problems: said(found.problems), advice: said(found.advice) };
};

test('a valid platform has no problems in any environment', async () => {
  expect(await validate({})).toEqual({
    environments: ['qa', 'prod'],
    problems: [],
    findings: [],
    advice: [],
    sites: [],
  });
});

test('applications are checked as build does, and a target for an unknown environment is reported', async () => {
  const found = await validate({
    'apps/shop/host/package.yaml': ours('HostPackage', 'web', 'spec:\n  directories: [{path: opt/web}]\n'),
    'apps/shop/deploy/shop.yaml': ours(
      'Workload',
      'shop',
      'spec:\n  deploymentTargets:\n    - {name: web, environment: qa, manifests: {path: host}}\n    - {name: web, environment: prd}\n',
    ),
  });
  expect(found.problems).toEqual([
    'apps/shop/deploy/shop.yaml:8:32: REFERENCE_MISSING: Workload shop: target web is for the environment prd, which the fleet does not have. Did you mean prod? It has qa, prod.',
    'apps/shop/host/package.yaml:6:24: FIELD_INVALID: HostPackage: spec.directories[0].path "opt/web" is not an absolute path on a host. Write it like /etc/app/app.conf, without . and ..',
  ]);
  expect(found.advice).toEqual([]);
});

test('problems of one environment do not hide those of another, and shared ones are reported once', async () => {
  const found = await validate({
    'platform/base/edge.yaml': ours(
      'ClusterType',
      'edge',
      '  labels: {region: eu}\nspec: {configType: confmap}\n',
    ),
    'platform/base/schema.yaml': ours(
      'ConfigSchema',
      'db',
      'spec:\n  schema: {properties: {DB: {properties: {size: {maximum: 5}}}}}\n',
    ),
    'platform/environments/qa/bad.yaml': ours('Config', 'bad', 'spec: {value: {}}\n'),
  });
  expect(found.problems).toEqual([
    'platform/environments/qa/bad.yaml:5:8: UNKNOWN_FIELD: Config bad: spec has no field "value". Did you mean values? It may have selector, siteSelector, fixed, values.',
    'platform/environments/qa/bad.yaml:5:7: FIELD_INVALID: Config bad: spec.values is missing',
    'platform/environments/prod/config.yaml:6:17: CONFIG_SCHEMA: edge/shop-web, press/shop-web: DB.size must be <= 5 (schema db). Change the value, or the schema.',
  ]);
});

test("a problem in the platform's objects does not hide problems of applications", async () => {
  const found = await validate({
    'platform/base/other.yaml': ours('WorkloadRegistratin', 'other', 'spec: {}\n'),
    'apps/shop/deploy/shop.yaml': 'apiVersion: fleet-ferry/v1alpha1\nkind: Workload\nmetadata: {name: shop\n',
  });
  expect(found.problems).toEqual([
    expect.stringMatching(
      /^platform\/base\/other.yaml:2:7: UNKNOWN_KIND: .* Did you mean WorkloadRegistration\? /,
    ),
    expect.stringMatching(/^apps\/shop\/deploy\/shop.yaml:\d+:\d+: YAML_SYNTAX: /),
  ]);
});

test('a problem in base/ is reported once, not for each environment', async () => {
  const found = await validate({
    'platform/base/edge.yaml': ours(
      'ClusterType',
      'edge',
      '  labels: {region: eu}\nspec: {configType: confmap}\n',
    ),
  });
  expect(found.problems).toEqual([
    'platform/base/edge.yaml:6:20: REFERENCE_MISSING: ClusterType edge: there is no Template confmap, which configType names. Did you mean configmap? Write that Template, or name another one.',
  ]);
});

test('a missing value is reported with type, description, possible layers, and values in other environments', async () => {
  const { environments, findings } = await validate({
    'platform/base/schema.yaml': ours(
      'ConfigSchema',
      'tz',
      'spec:\n  schema: {required: [ZONE], properties: {ZONE: {type: string, description: Where it is}}}\n',
    ),
    'platform/base/eu.yaml': ours('Config', 'eu', 'spec:\n  selector: {region: eu}\n  values: {A: 1}\n'),
    'platform/environments/prod/zone.yaml': ours('Config', 'zone', 'spec:\n  values: {ZONE: Europe/Oslo}\n'),
  });
  expect(environments).toEqual(['qa', 'prod']);
  const at = (file: string) => expect.objectContaining({ file: expect.stringContaining(file) });
  expect(findings).toMatchObject([
    {
      error: { code: 'CONFIG_SCHEMA' },
      environments: ['qa'],
      assignments: ['edge/shop-web', 'press/shop-web'],
      missing: [
        {
          name: 'ZONE',
          schema: 'tz',
          type: 'string',
          description: 'Where it is',
          layers: [
            { name: 'eu', from: 'base', selector: { region: 'eu' }, at: at('base/eu.yaml') },
            { name: 'defaults', from: 'base', selector: {}, at: at('base/config.yaml') },
          ],
          elsewhere: [{ environment: 'prod', value: 'Europe/Oslo', at: { line: 6, column: 12 } }],
        },
      ],
    },
  ]);
  const lines = findings.flatMap((finding) => formatFinding(finding, environments.length));
  expect(lines.map((line) => line.replaceAll(/\S+\/platform\//g, 'platform/'))).toEqual([
    'platform/base/schema.yaml:1:1: CONFIG_SCHEMA: edge/shop-web, press/shop-web: ZONE is missing (schema tz). Set it in a Config that selects this assignment, or change the schema. [qa]',
    '  ZONE: string: Where it is',
    '  it could stand in eu (base), for region=eu: platform/base/eu.yaml:1:1',
    '  it could stand in defaults (base), for everything: platform/base/config.yaml:1:1',
    '  prod has "Europe/Oslo": platform/environments/prod/zone.yaml:6:12',
  ]);
});

test('a value missing in every environment is reported with the layers of each', async () => {
  const layer = (name: string) => ours('Config', name, 'spec:\n  values: {A: 1}\n');
  const { environments, findings } = await validate({
    'platform/base/schema.yaml': ours('ConfigSchema', 'tz', 'spec:\n  schema: {required: [ZONE]}\n'),
    'platform/environments/qa/own.yaml': layer('own-qa'),
    'platform/environments/prod/own.yaml': layer('own-prod'),
  });
  const lines = findings.flatMap((finding) => formatFinding(finding, environments.length));
  expect(lines.map((line) => line.replaceAll(/\S+\/platform\//g, 'platform/'))).toEqual([
    'platform/base/schema.yaml:1:1: CONFIG_SCHEMA: edge/shop-web, press/shop-web: ZONE is missing (schema tz). Set it in a Config that selects this assignment, or change the schema.',
    '  it could stand in own-qa (environment), for everything: platform/environments/qa/own.yaml:1:1 [qa]',
    '  it could stand in defaults (base), for everything: platform/base/config.yaml:1:1',
    '  it could stand in sizes (environment), for everything: platform/environments/prod/config.yaml:1:1 [prod]',
    '  it could stand in own-prod (environment), for everything: platform/environments/prod/own.yaml:1:1 [prod]',
  ]);
});

test('an object that a cluster would refuse is reported with position and path, only for those clusters', async () => {
  const manifest = (more: string) =>
    `apiVersion: v1\nkind: Service\nmetadata: {name: web}\nspec: {ports: [{port: 80${more}}]}\n`;
  const files = (more: string) => ({
    'platform/base/press.yaml': ours('ClusterType', 'press', '  labels: {region: us}\nspec: {}\n'),
    'apps/shop/host/package.yaml': manifest(more),
  });
  expect((await validate(files(''))).problems).toEqual([]);
  expect((await validate(files(', prt: 81'))).problems).toEqual([
    'apps/shop/host/package.yaml:4:27: OBJECT_INVALID: Service web: spec.ports[0].prt is not a field of ServicePort. Did you mean port?',
  ]);
});

test('custom kinds defined in crds/ are validated', async () => {
  const definition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: lines.plant.example}
spec:
  group: plant.example
  names: {kind: Line, plural: lines}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {speed: {type: integer}}}}}}
`;
  const line = 'apiVersion: plant.example/v1\nkind: Line\nmetadata: {name: one}\nspec: {speed: fast}\n';
  const unknown = await validate({
    'apps/shop/host/package.yaml': line,
    'platform/base/press.yaml': ours('ClusterType', 'press', 'spec: {}\n'),
  });
  expect(unknown.problems).toEqual([]);
  expect(unknown.advice).toEqual([
    expect.stringMatching(/UNKNOWN_KIND: Line: nothing is known of plant.example\/v1 Line/),
  ]);
  const known = await validate({
    'apps/shop/host/package.yaml': line,
    'platform/base/press.yaml': ours('ClusterType', 'press', 'spec: {}\n'),
    'platform/crds/line.yaml': definition,
  });
  expect(known.advice).toEqual([]);
  expect(known.problems).toEqual([
    'apps/shop/host/package.yaml:4:15: OBJECT_INVALID: Line one: spec.speed must be a whole number, not the text "fast"',
  ]);
});

test('each problem in fleet.yaml is reported, even if the environments are unknown', async () => {
  const found = await validate({
    'platform/fleet.yaml': ours('Fleet', 'acme', 'spec:\n  enviroments: [{name: qa}]\n'),
  });
  expect(found.environments).toEqual([]);
  expect(found.problems).toEqual([
    'platform/fleet.yaml:6:3: UNKNOWN_FIELD: Fleet acme: spec has no field "enviroments". Did you mean environments? It may have environments.',
    'platform/fleet.yaml:6:3: FIELD_INVALID: Fleet acme: spec.environments is missing',
  ]);
});

test('a tab in the indentation is one problem', async () => {
  const found = await validate({
    'platform/base/tab.yaml': ours('Config', 'tab', 'spec:\n  values:\n\tA: b\n'),
  });
  expect(found.problems).toEqual([
    'platform/base/tab.yaml:7:1: YAML_SYNTAX: this is not YAML: the line is indented with a tab. Indent with spaces: YAML takes no tabs there.',
  ]);
});

test('an unknown custom kind is one advice for all environments', async () => {
  const found = await validate({
    'platform/base/edge.yaml': ours(
      'ClusterType',
      'edge',
      '  labels: {region: eu}\nspec: {configType: configmap, namespaceService: odd}\n',
    ),
    'platform/base/odd.yaml': ours(
      'Template',
      'odd',
      'spec:\n  type: namespace\n  manifests:\n    - "apiVersion: example.com/v1\\nkind: Odd\\nmetadata:\\n  name: {{environment}}-{{clusterType}}\\n"\n',
    ),
  });
  expect(found.problems).toEqual([]);
  expect(found.advice).toHaveLength(1);
  expect(found.advice[0]).toContain('nothing is known of example.com/v1 Odd');
});

describe('the version of a reconciler', () => {
  const edge = (spec: string) => ({
    'platform/base/edge.yaml': ours('ClusterType', 'edge', `  labels: {region: eu}\nspec: {${spec}}\n`),
    'platform/base/reconciler.yaml': ours(
      'Config',
      'reconciler',
      'spec: {values: {reconciler: {registry: registry.example/halden}}}\n',
    ),
  });

  test('is advice where the built-in Template is for later ones, once for all environments, and holds nothing', async () => {
    const found = await validate(edge('reconciler: argocd-oci, reconcilerVersion: "3.0.12"'));
    expect(found.problems).toEqual([]);
    expect(found.advice).toEqual([
      'platform/base/edge.yaml:6:51: UNSUPPORTED: ClusterType edge: reconcilerVersion is 3.0.12, and the Template argocd-oci is for >=3.1. Name a Template for that version, or correct reconcilerVersion: docs/reconcilers.md has what changed between versions.',
    ]);
  });

  test.each(['3.1', '3', '4.0.2'])('is not advice for %s', async (version) => {
    const found = await validate(edge(`reconciler: argocd-oci, reconcilerVersion: "${version}"`));
    expect([found.problems, found.advice]).toEqual([[], []]);
  });

  test("is compared with the range of the platform's own Template", async () => {
    const own = (versions: string) =>
      ours(
        'Template',
        'own-oci',
        `spec:\n  type: reconciler\n${versions}  manifests: ['a: {{assignment}}']\n`,
      );
    const more = edge('reconciler: own-oci, reconcilerVersion: "2.3"');
    const bounded = await validate({
      ...more,
      'platform/base/own.yaml': own("  versions: '>=1.4 <2'\n"),
    });
    expect(bounded.advice).toEqual([expect.stringContaining('the Template own-oci is for >=1.4 <2.')]);
    expect((await validate({ ...more, 'platform/base/own.yaml': own('') })).advice).toEqual([]);
  });

  test('is refused in another form, as is the range of a Template', async () => {
    const found = await validate({
      ...edge('reconciler: own, reconcilerVersion: latest'),
      'platform/base/own.yaml': ours('Template', 'own', "spec: {type: reconciler, versions: '^3'}\n"),
    });
    expect(found.problems.join('\n')).toContain(
      'ClusterType edge: spec.reconcilerVersion "latest" is not a version. Write it like "3.1" or "3.1.9", in quotes',
    );
    expect(found.problems.join('\n')).toContain(
      'Template own: spec.versions "^3" is not a range of versions. Write it like ">=3.1" or ">=3.1 <4", in quotes',
    );
  });
});

test('rules for objects are advice where another reconciler applies the applications, once for all environments', async () => {
  const edge = (reconciler: string) => ({
    'platform/base/edge.yaml': ours(
      'ClusterType',
      'edge',
      `  labels: {region: eu}\nspec:\n  reconciler: ${reconciler}\n  objectRules: [{kinds: [ConfigMap], drift: report}]\n`,
    ),
    'platform/base/reconciler.yaml': ours(
      'Config',
      'reconciler',
      'spec: {values: {reconciler: {registry: registry.example/halden}}}\n',
    ),
  });
  const found = await validate(edge('argocd-oci'));
  expect(found.problems).toEqual([]);
  expect(found.advice).toEqual([
    expect.stringMatching(
      /^platform\/base\/edge\.yaml:8:\d+: UNSUPPORTED: ClusterType edge: objectRules have an effect where fleet-agent applies the applications, and reconciler is argocd-oci\. /,
    ),
  ]);
  expect((await validate(edge('fleet'))).advice).toEqual([]);
});
