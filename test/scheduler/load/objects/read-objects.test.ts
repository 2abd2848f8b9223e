import { describe, expect, test } from 'vitest';
import { type FleetError, formatError } from '../../../../bundles/errors.ts';
import { ofKind } from '../../../../scheduler/load/objects/platform-object.ts';
import { readObjects } from '../../../../scheduler/load/objects/read-objects.ts';

/** Reads one file as a source would give it. */
const read = (text: string) => {
  const problems: FleetError[] = [];
  const objects = readObjects(
    {
      files: [{ path: 'one.yaml', bytes: Buffer.from(text) }],
      prefix: 'base-main/',
      location: { kind: 'directory', directory: '', shown: '' },
      snapshot: { role: 'base/main', repo: '', path: '.', tree: '', directory: '' },
    },
    problems,
  );
  return { objects, problems, said: problems.map(formatError) };
};

const kalypso = (kind: string, rest: string): string =>
  `apiVersion: scheduler.kalypso.io/v1alpha1\nkind: ${kind}\nmetadata:\n  name: it\n${rest}`;
const fleet = (kind: string, rest: string): string =>
  `apiVersion: fleet-ferry/v1alpha1\nkind: ${kind}\nmetadata:\n  name: it\n${rest}`;

describe('an error in an object is reported with its position', () => {
  test.for([
    [
      'a reboot policy for a cluster',
      fleet('ClusterType', 'spec:\n  reboot: {windows: ["0 2 * * 6 for 2h"]}\n'),
      'base-main/one.yaml:6:11: FIELD_INVALID: ClusterType it: spec.reboot is for hosts, and target is kubernetes. The agent does not reboot nodes of a cluster: leave them to kured, which drains them first.',
    ],
    [
      'a reboot policy without a window',
      fleet('ClusterType', 'spec:\n  target: host\n  reboot: {windows: []}\n'),
      'base-main/one.yaml:7:21: FIELD_INVALID: ClusterType it: spec.reboot.windows is empty',
    ],
    [
      'a window for reboots that no calendar has',
      fleet('ClusterType', 'spec:\n  target: host\n  reboot: {windows: ["0 2 31 2 * for 1h"]}\n'),
      'base-main/one.yaml:7:22: FIELD_INVALID: ClusterType it: spec.reboot.windows[0] "0 2 31 2 * for 1h" is not a time. Write it like \'0 22 * * 1-5 for 6h\': minute, hour, day, month, weekday.',
    ],
    [
      'a field that is not known',
      kalypso(
        'ClusterType',
        'spec:\n  reconciler: a\n  namespaceService: b\n  configType: c\n  colour: red\n',
      ),
      'base-main/one.yaml:9:3: UNKNOWN_FIELD: ClusterType it: spec has no field "colour". It may have reconciler, namespaceService, configType.',
    ],
    [
      'a field at the top that is not known',
      kalypso('ClusterType', 'specs: {}\nspec: {reconciler: a, namespaceService: b, configType: c}\n'),
      'base-main/one.yaml:5:1: UNKNOWN_FIELD: ClusterType it: the object has no field "specs". Did you mean spec? It may have apiVersion, kind, metadata, spec, status.',
    ],
    [
      'a field that is missing',
      kalypso('ClusterType', 'spec:\n  reconciler: a\n  configType: c\n'),
      'base-main/one.yaml:6:3: FIELD_INVALID: ClusterType it: spec.namespaceService is missing. Name a Template of the platform, or a built-in one: namespace, guarded-namespace and none.',
    ],
    [
      'a number where text belongs',
      kalypso('BaseRepo', 'spec:\n  repo: https://example.com\n  branch: 1.0\n  path: .\n'),
      'base-main/one.yaml:7:11: FIELD_INVALID: BaseRepo it: spec.branch must be text, not the number 1.0. Write it in quotes: "1.0".',
    ],
    [
      'a schema as text whose alias has no anchor',
      fleet('ConfigSchema', 'spec:\n  schema: "*base"\n'),
      'base-main/one.yaml:6:11: SCHEMA_INVALID: ConfigSchema it: spec.schema is not a JSON Schema: unresolved alias',
    ],
    [
      'a label that is a boolean',
      `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: it\n  labels:\n    platform-config: true\n`,
      'base-main/one.yaml:6:22: FIELD_INVALID: ConfigMap it: metadata.labels.platform-config must be text, not the boolean true. Write it in quotes: "true".',
    ],
    [
      'a short commit',
      kalypso('BaseRepo', 'spec:\n  repo: r\n  branch: main\n  path: .\n  commit: abc1234\n'),
      'base-main/one.yaml:9:11: FIELD_INVALID: BaseRepo it: spec.commit "abc1234" is not a commit. Write all 40 hex digits: a short one can mean another commit tomorrow.',
    ],
    [
      'a word out of the set',
      kalypso('Template', 'spec:\n  type: reconcile\n  manifests: []\n'),
      'base-main/one.yaml:6:9: FIELD_INVALID: Template it: spec.type must be reconciler or namespace or config, not "reconcile". Did you mean reconciler?',
    ],
    [
      'a manifest that is an object, as before 2023',
      kalypso('Template', 'spec:\n  type: config\n  manifests:\n    - kind: X\n'),
      'base-main/one.yaml:8:7: FIELD_INVALID: Template it: spec.manifests[0] must be text, not a mapping. Write it as text: begin the entry with "- |" and indent what follows.',
    ],
    [
      'a name that is not a label',
      `apiVersion: scheduler.kalypso.io/v1alpha1\nkind: Workload\nmetadata:\n  name: My_Shop\nspec: {}\n`,
      'base-main/one.yaml:4:9: NAME_INVALID: Workload My_Shop: metadata.name "My_Shop" is not a DNS label. Use at most 63 of a-z, 0-9 and -, beginning and ending with a letter or digit.',
    ],
    [
      'an unknown kind of Kalypso',
      `apiVersion: scheduler.kalypso.io/v1alpha1\nkind: ClusterTyp\nmetadata:\n  name: it\n`,
      expect.stringMatching(
        /^base-main\/one.yaml:2:7: UNKNOWN_KIND: scheduler.kalypso.io has no kind "ClusterTyp" that is written by hand. Did you mean ClusterType\? scheduler.kalypso.io\/v1alpha1 has Environment, BaseRepo, GitOpsRepo, ClusterType, Template, ConfigSchema, WorkloadRegistration, Workload, DeploymentTarget, SchedulingPolicy; fleet-ferry\/v1alpha1 has Fleet, /,
      ),
    ],
    [
      'an unknown kind that both groups have nearly',
      `apiVersion: fleet-ferry/v1alpha1\nkind: WorkloadRegistratin\nmetadata:\n  name: it\n`,
      expect.stringContaining('Did you mean WorkloadRegistration? '),
    ],
    [
      'a kind of the other group',
      `apiVersion: fleet-ferry/v1alpha1\nkind: BaseRepo\nmetadata:\n  name: it\n`,
      expect.stringContaining('Did you mean BaseRepo of scheduler.kalypso.io/v1alpha1?'),
    ],
    [
      'a kind that the scheduler writes',
      kalypso('Assignment', 'spec: {}\n'),
      expect.stringMatching(/^base-main\/one.yaml:2:7: UNKNOWN_KIND: /),
    ],
    [
      'an unknown version',
      `apiVersion: fleet-ferry/v2\nkind: Fleet\nmetadata:\n  name: it\n`,
      'base-main/one.yaml:1:13: UNKNOWN_KIND: Fleet has no version "fleet-ferry/v2". Write fleet-ferry/v1alpha1.',
    ],
    [
      'a key that is there twice',
      kalypso('ClusterType', 'spec:\n  reconciler: a\n  reconciler: b\n'),
      'base-main/one.yaml:7:3: YAML_SYNTAX: the key reconciler is there twice in one mapping. Remove one of the two.',
    ],
    [
      'broken YAML',
      kalypso('ClusterType', 'spec: {reconciler: a\nmore: b\n'),
      expect.stringMatching(/^base-main\/one.yaml:\d+:\d+: YAML_SYNTAX: this is not YAML: /),
    ],
    [
      'a selector without values',
      kalypso(
        'SchedulingPolicy',
        'spec:\n  deploymentTargetSelector:\n    labelSelector:\n      matchExpressions:\n        - {key: a, operator: In}\n  clusterTypeSelector: {}\n',
      ),
      'base-main/one.yaml:9:11: FIELD_INVALID: SchedulingPolicy it: spec.deploymentTargetSelector.labelSelector.matchExpressions[0]: the operator In needs at least one of values',
    ],
    [
      'a platform that is none',
      fleet('ClusterType', 'spec:\n  platforms: [amd64]\n'),
      'base-main/one.yaml:6:15: FIELD_INVALID: ClusterType it: spec.platforms[0] "amd64" is not a platform like linux/amd64',
    ],
    [
      'a branch beside a ref',
      fleet('WorkloadRegistration', 'spec:\n  workload: {repo: r, branch: a, ref: b}\n'),
      'base-main/one.yaml:6:13: FIELD_INVALID: WorkloadRegistration it: spec.workload has a branch and a ref. Keep one of them.',
    ],
    [
      'an environment named twice',
      fleet('Fleet', 'spec:\n  environments: [{name: dev}, {name: dev}]\n'),
      'base-main/one.yaml:6:17: FIELD_INVALID: Fleet it: spec.environments names dev twice',
    ],
    [
      'a locked image without a digest',
      fleet('ImagesLock', 'spec:\n  images:\n    nginx:1: nginx@sha256:123\n'),
      'base-main/one.yaml:7:14: FIELD_INVALID: ImagesLock it: spec.images.nginx:1 must be name@sha256:<64 hex digits>, not "nginx@sha256:123"',
    ],
    [
      'a number that would be rounded',
      fleet('Config', 'spec:\n  values:\n    serial: 12345678901234567890\n'),
      'base-main/one.yaml:7:13: FIELD_INVALID: Config it: spec.values.serial is the number 12345678901234567890, which would not arrive as written. Put it in quotes.',
    ],
    [
      'an octal number of YAML 1.1',
      fleet('Config', 'spec:\n  values:\n    mode: 0644\n'),
      'base-main/one.yaml:7:11: FIELD_INVALID: Config it: spec.values.mode is 0644, which some programs read as the number 644 and others as the number 420. Put it in quotes if it is text, else write the number in decimal.',
    ],
    [
      'a number with underscores',
      fleet('Config', 'spec:\n  values:\n    sizes: [1_000]\n'),
      'base-main/one.yaml:7:13: FIELD_INVALID: Config it: spec.values.sizes[0] is 1_000, which some programs read as text and others as the number 1000. Put it in quotes if it is text, else write the number in decimal.',
    ],
    [
      'a number that no double holds',
      fleet('Config', 'spec:\n  values:\n    big: 1e400\n'),
      'base-main/one.yaml:7:10: FIELD_INVALID: Config it: spec.values.big is 1e400, which some programs read as the number Infinity and others as text. Put it in quotes if it is text, else write the number in decimal.',
    ],
    [
      'a number of more than 64 bits',
      fleet('Config', 'spec:\n  values:\n    big: 18446744073709551617\n'),
      'base-main/one.yaml:7:10: FIELD_INVALID: Config it: spec.values.big is the number 18446744073709551617, which would not arrive as written. Put it in quotes.',
    ],
    [
      'an infinite number',
      fleet('Config', 'spec:\n  values:\n    big: .inf\n'),
      'base-main/one.yaml:7:10: FIELD_INVALID: Config it: spec.values.big is the number .inf, which would not arrive as written. Put it in quotes.',
    ],
    [
      'a negative size',
      fleet('ClusterType', 'spec:\n  requirements: {diskBytes: -1}\n'),
      'base-main/one.yaml:6:29: FIELD_INVALID: ClusterType it: spec.requirements.diskBytes must be a whole number, not the number -1',
    ],
  ] as const)('%s', ([, text, expected]) => {
    const { objects, said } = read(text);
    expect(said).toEqual([expected]);
    expect(objects).toEqual([]);
  });

  test('all errors of a file are reported, and its valid objects are read', () => {
    const broken = kalypso('ClusterType', 'spec:\n  reconciler: 1\n  namespaceService: [a]\n  colour: red\n');
    const { objects, problems } = read(
      `${broken}---\n${kalypso('Workload', 'spec: {deploymentTargets: []}\n')}`,
    );
    expect(problems.map((error) => [error.code, error.at?.line])).toEqual([
      ['UNKNOWN_FIELD', 8],
      ['FIELD_INVALID', 6],
      ['FIELD_INVALID', 7],
      ['FIELD_INVALID', 6],
    ]);
    expect(objects.map((object) => object.kind)).toEqual(['Workload']);
  });

  test('nesting of 50,000 levels is an error, not a crash', () => {
    const { said } = read(fleet('Config', `spec:\n  values:\n    a: ${'['.repeat(50_000)}\n`));
    expect(said[0]).toMatch(/YAML_SYNTAX/);
  });

  test('a file above 4 MiB is not parsed: TOO_LARGE', () => {
    const { problems } = read(`# fleet-ferry\n${' '.repeat(4 << 20)}`);
    expect(problems.map((error) => error.code)).toEqual(['TOO_LARGE']);
  });
});

describe('objects of other tools are ignored', () => {
  test.for([
    [
      'a kustomization',
      'apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [fleet-ferry.yaml]\n',
    ],
    [
      'a ConfigMap of somebody',
      'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x, labels: {platform-config: "false"}}\n',
    ],
    [
      'the hub’s descriptors',
      'apiVersion: hub.kalypso.io/v1alpha1\nkind: DeploymentDescriptor\n# scheduler.kalypso.io\n',
    ],
    ['a Helm template without our words', 'kind: {{ .Values.kind }}\n'],
    ['a list', '# fleet-ferry\n- a\n- b\n'],
    ['an empty file', ''],
  ] as const)('%s', ([, text]) => {
    expect(read(text)).toMatchObject({ objects: [], problems: [] });
  });
});

describe('objects are read', () => {
  test('from several documents, with null, aliases and fields that Kubernetes adds', () => {
    const { objects, said } = read(
      `${kalypso('Environment', '  labels:\n  creationTimestamp: null\nspec:\n  controlPlane: &c {repo: r, branch: dev, path: .}\nstatus: {}\n')}---\n${kalypso('Workload', 'spec:\n  deploymentTargets:\n')}`,
    );
    expect(said).toEqual([]);
    expect(objects.map((object) => object.kind)).toEqual(['Environment', 'Workload']);
    expect(ofKind(objects, 'Environment')[0]?.controlPlane).toEqual({
      repo: 'r',
      revision: { kind: 'branch', name: 'dev' },
      path: '.',
    });
  });

  test('with the position of each line of a template', () => {
    const { objects } = read(
      kalypso(
        'Template',
        'spec:\n  type: config\n  manifests:\n    - |\n      one\n        two\n    - "{{ quoted }}"\n    - |2\n\n        indented\n    - plain\n',
      ),
    );
    const manifests = ofKind(objects, 'Template')[0]?.template.manifests;
    expect(manifests).toEqual([
      { text: 'one\n  two\n', at: { file: 'base-main/one.yaml', line: 9, column: 7 }, indent: 6 },
      { text: '{{ quoted }}', at: { file: 'base-main/one.yaml', line: 11, column: 8 }, indent: 0 },
      { text: '\n  indented\n', at: { file: 'base-main/one.yaml', line: 13, column: 7 }, indent: 6 },
      { text: 'plain', at: { file: 'base-main/one.yaml', line: 15, column: 7 }, indent: 0 },
    ]);
  });

  test('without a line end for a block that ends with the file', () => {
    const { objects } = read(kalypso('Template', 'spec:\n  type: config\n  manifests:\n    - |\n      text'));
    expect(ofKind(objects, 'Template')[0]?.template.manifests[0]?.text).toBe('text');
  });

  test('with YAML 1.2 types and the position of each key of a Config', () => {
    const { objects, said } = read(
      fleet(
        'Config',
        'spec:\n  selector: {region: eu}\n  values:\n    on: yes\n    1: one\n    port: 8080\n    deep: {list: [1.5, null, true]}\n',
      ),
    );
    expect(said).toEqual([]);
    const config = ofKind(objects, 'Config')[0]?.config;
    expect(config?.values).toEqual({ on: 'yes', 1: 'one', port: 8080, deep: { list: [1.5, null, true] } });
    expect(config?.places.port).toEqual({ file: 'base-main/one.yaml', line: 10, column: 5 });
  });

  test('with defaults for a ClusterType', () => {
    const { objects } = read(
      `${fleet('ClusterType', 'spec: {}\n')}---\n${fleet('ClusterType', 'spec: {target: host, offline: true, requirements: {diskBytes: 1000}}\n')}`,
    );
    expect(ofKind(objects, 'ClusterType').map((object) => object.clusterType)).toMatchObject([
      {
        target: 'kubernetes',
        reconciler: 'fleet',
        namespaceService: 'namespace',
        configType: 'configmap',
        offline: false,
      },
      {
        target: 'host',
        namespaceService: 'none',
        configType: 'env-file',
        offline: true,
        requirements: { diskBytes: 1000 },
      },
    ]);
  });

  test('with __proto__ as an ordinary key', () => {
    const { objects } = read(fleet('Config', 'spec:\n  values:\n    __proto__: {polluted: yes}\n'));
    const values = ofKind(objects, 'Config')[0]?.config.values;
    expect(Object.keys(values ?? {})).toEqual(['__proto__']);
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });
});
