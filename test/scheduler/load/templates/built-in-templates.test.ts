import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { builtInTemplates } from '../../../../scheduler/load/platform/built-in-templates.ts';
import type { Value } from '../../../../scheduler/model/model.ts';
import { RECONCILERS, renderBuiltIn } from './render-template.ts';

const FOLDER = join(import.meta.dirname, '../../../../scheduler/load/templates');

const reconcilerOf = (name: string, manifests: Record<string, Value>, settings: Record<string, Value> = {}) =>
  renderBuiltIn({
    clusterType: { reconciler: name },
    target: { manifests },
    config: { reconciler: settings },
  });
const objectsOf = (yaml = ''): readonly Record<string, never>[] =>
  parseAllDocuments(yaml).map((document) => document.toJS() as Record<string, never>);

test('each file has the Template it is named after, and each reconciler is covered by a test', () => {
  const names = builtInTemplates().map(({ name }) => `${name}.yaml`);
  expect(names).toEqual(readdirSync(FOLDER).toSorted());
  const reconcilers = builtInTemplates().filter(({ type }) => type === 'reconciler');
  expect(reconcilers.map(({ name }) => name).toSorted()).toEqual(Object.keys(RECONCILERS).toSorted());
});

test('each reconciler of somebody else says for which versions it is, as the guide has it', () => {
  const guide = readFileSync(join(import.meta.dirname, '../../../../docs/reconcilers.md'), 'utf8');
  const [, rows = ''] = /\n### Versions\n(.*?)\n### /s.exec(guide) ?? [];
  const told = [...rows.matchAll(/^\| (`.*?) \| .*? (>=[\d.]+) \|/gm)].flatMap(([, names = '', versions]) =>
    [...names.matchAll(/`([\w-]+)`/g)].map(([, name]) => [name, versions]),
  );
  const others = builtInTemplates().filter(({ name, type }) => type === 'reconciler' && name !== 'fleet');
  expect(Object.fromEntries(told)).toEqual(
    Object.fromEntries(others.map(({ name, versions }) => [name, versions ?? 'none'])),
  );
});

describe.each(Object.entries(RECONCILERS))('the reconciler %s', (name, { manifests, settings }) => {
  test('writes YAML with the given settings, and only required fields without settings', () => {
    const needed: Record<string, Value> =
      settings['registry'] === undefined ? {} : { registry: settings['registry'] };
    for (const some of [settings, needed]) {
      const { files, held } = reconcilerOf(name, manifests, some);
      expect(held).toEqual([]);
      const documents = parseAllDocuments(files['reconciler.yaml'] ?? '');
      expect(documents.flatMap(({ errors, warnings }) => [...errors, ...warnings])).toEqual([]);
    }
  });

  test('reports missing settings by name', () => {
    const wanted = [...Object.keys(manifests), ...Object.keys(settings)];
    const { held } = reconcilerOf(name, {}, {});
    const needs = held.map((sentence) => /manifests\.(\w+)|reconciler\.(\w+)/.exec(sentence));
    for (const found of needs) expect(wanted).toContain(found?.[1] ?? found?.[2]);
    const free = ['fleet', 'zarf'];
    expect(held).toHaveLength(free.includes(name) ? 0 : 1);
  });
});

test.each([
  ['flux', {}, {}, 'deployment target shop-web has no manifests.repo: the reconciler flux needs the Git URL'],
  ['flux', { repo: 'x' }, {}, 'has no manifests.branch and no manifests.ref'],
  ['flux-oci', {}, {}, 'the configuration has no reconciler.registry for cluster type edge'],
  ['rancher-fleet-helm', { chart: 'shop' }, {}, 'has no manifests.version'],
  ['ansible-pull', { repo: 'x', branch: 'y', path: 'a b' }, {}, '"a b" cannot go into a systemd unit'],
  ['ansible-pull', { repo: '--x', branch: 'y', path: 'z' }, {}, '"--x" cannot go into a systemd unit'],
  ['ansible-pull', { repo: 'x', branch: 'y', path: 'z' }, { user: 'a\nExecStartPre=b' }, 'cannot go into'],
] as const)('%s with %j and %j is held: %s', (name, manifests, settings, sentence) => {
  expect(reconcilerOf(name, manifests, settings).held).toEqual([expect.stringContaining(sentence)]);
});

test('values of an application keep their type and content, also with special characters', () => {
  const nasty = 'a: "b"\n---\nkind: ClusterRole # {{ .Namespace }}\t\\';
  const git = { repo: nasty, branch: nasty, path: nasty };
  const [repository, kustomization] = objectsOf(reconcilerOf('flux', git).files['reconciler.yaml']);
  expect(repository?.['spec']).toMatchObject({ url: nasty, ref: { branch: nasty } });
  expect(kustomization?.['spec']).toMatchObject({ path: nasty });
  for (const name of ['argocd', 'rancher-fleet', 'symphony']) {
    const objects = objectsOf(reconcilerOf(name, git).files['reconciler.yaml']);
    expect(JSON.stringify(objects)).toContain(JSON.stringify(nasty));
    expect(objects.map(({ kind }) => kind)).not.toContain('ClusterRole');
  }
});

test('flux uses a commit for a ref that looks like one, and a tag for any other', () => {
  const refOf = (ref: string) =>
    objectsOf(reconcilerOf('flux', { repo: 'x', ref }).files['reconciler.yaml'])[0]?.['spec']?.['ref'];
  expect(refOf('0123456789abcdef0123456789abcdef01234567')).toEqual({
    commit: '0123456789abcdef0123456789abcdef01234567',
  });
  expect(refOf('v1.2.3')).toEqual({ tag: 'v1.2.3' });
});

test.each([
  ['rancher-fleet', { repo: 'x', branch: 'main' }],
  ['rancher-fleet-helm', { chart: 'oci://registry.example/shop', version: '1.2.3' }],
])('%s corrects drift by force, unless forceDrift is false', (name, manifests) => {
  const driftOf = (settings: Record<string, Value>) =>
    objectsOf(reconcilerOf(name, manifests, settings).files['reconciler.yaml'])[0]?.['spec']?.[
      'correctDrift'
    ];
  expect(driftOf({})).toEqual({ enabled: true, force: true });
  expect(driftOf({ forceDrift: true })).toEqual({ enabled: true, force: true });
  expect(driftOf({ forceDrift: false })).toEqual({ enabled: true, force: false });
});

test('symphony names a SolutionVersion, and a Solution where Symphony is older than 0.49', () => {
  const manifests = { repo: 'x', branch: 'main', solution: 'shop:v1' };
  const instanceOf = (settings: Record<string, Value>) =>
    objectsOf(reconcilerOf('symphony', manifests, settings).files['reconciler.yaml']).at(-1)?.['spec'];
  expect(instanceOf({})).toMatchObject({ solutionversion: 'shop:v1' });
  expect(instanceOf({})).not.toHaveProperty('solution');
  expect(instanceOf({ legacySolution: true })).toMatchObject({ solution: 'shop:v1' });
  expect(instanceOf({ legacySolution: true })).not.toHaveProperty('solutionversion');
});

test("flux-oci has the URL of the channel's repository, for any spelling of the registry", () => {
  for (const registry of [
    'registry.example/halden',
    'oci://registry.example/halden',
    'registry.example/halden/',
  ]) {
    const [source] = objectsOf(reconcilerOf('flux-oci', {}, { registry }).files['reconciler.yaml']);
    expect(source?.['spec']).toMatchObject({
      url: 'oci://registry.example/halden/dev/edge',
      ref: { tag: 'bundle' },
    });
  }
});

describe('configuration files', () => {
  const values = {
    TEXT: `it's "a" $b \`c\` \\ d\ne`,
    PORT: 8080,
    RATE: 1.5,
    ON: true,
    NONE: null,
    DEEP: { x: [1] },
  };
  const settings = { reconciler: { secret: 'x' }, namespaceService: { quota: { pods: 1 } } };
  const fileOf = (configType: string, config: Record<string, Value>) => {
    const { files, held } = renderBuiltIn({ clusterType: { configType }, config });
    expect(held).toEqual([]);
    return Object.entries(files);
  };

  test.each(['configmap', 'env-file', 'shell', 'json'])(
    '%s leaves out the settings of reconciler and namespace',
    (type) => {
      expect(fileOf(type, settings)).toEqual([]);
      expect(fileOf(type, { ...values, ...settings })).toEqual(fileOf(type, values));
    },
  );

  test('json keeps types', () => {
    const [[path, text] = []] = fileOf('json', values);
    expect(path).toBe('platform-config.json');
    expect(JSON.parse(text ?? '')).toEqual(values);
    expect(text?.endsWith('}\n')).toBe(true);
  });
});

describe('the guarded namespace', () => {
  const guarded = (workspace: string, namespaceService?: Value) =>
    renderBuiltIn({
      clusterType: { namespaceService: 'guarded-namespace' },
      target: { workspace },
      config: namespaceService === undefined ? {} : { namespaceService },
    });
  const specOf = (kind: string, yaml = ''): unknown =>
    objectsOf(yaml).find((object) => object['kind'] === kind)?.['spec'];

  test('has default quotas, which can be overridden one by one', () => {
    const usual = guarded('sales').files['namespace.yaml'];
    expect(specOf('ResourceQuota', usual)).toEqual({
      hard: { 'limits.memory': '8Gi', pods: '50', 'requests.cpu': '2', 'requests.memory': '4Gi' },
    });
    const other = guarded('sales', { quota: { pods: 5, 'requests.storage': '1Gi' } }).files['namespace.yaml'];
    expect(specOf('ResourceQuota', other)).toEqual({
      hard: {
        'limits.memory': '8Gi',
        pods: '5',
        'requests.cpu': '2',
        'requests.memory': '4Gi',
        'requests.storage': '1Gi',
      },
    });
  });

  test('allows only DNS and the configured namespaces and networks', () => {
    const spec = specOf(
      'NetworkPolicy',
      guarded('sales', { ingressFrom: ['ingress'], egressTo: ['10.0.0.0/8'] }).files['namespace.yaml'],
    ) as {
      readonly ingress: readonly { readonly from: readonly unknown[] }[];
      readonly egress: readonly unknown[];
    };
    expect(spec.ingress[0]?.from).toHaveLength(2);
    expect(spec.egress.at(-1)).toEqual({ to: [{ ipBlock: { cidr: '10.0.0.0/8' } }] });
    const usual = specOf('NetworkPolicy', guarded('sales').files['namespace.yaml']) as typeof spec;
    expect([usual.ingress[0]?.from.length, usual.egress.length]).toEqual([1, 2]);
  });

  test("has a RoleBinding for the workspace's group, and none without a group", () => {
    const kinds = (yaml = '') => objectsOf(yaml).map(({ kind }): unknown => kind);
    expect(kinds(guarded('sales').files['namespace.yaml'])).toContain('RoleBinding');
    expect(kinds(guarded('').files['namespace.yaml'])).toEqual([
      'Namespace',
      'ResourceQuota',
      'LimitRange',
      'NetworkPolicy',
      'ServiceAccount',
    ]);
    const binding = objectsOf(
      guarded('sales', { role: 'edit', group: 'oidc:sales' }).files['namespace.yaml'],
    ).at(-1);
    expect(binding).toMatchObject({
      roleRef: { kind: 'ClusterRole', name: 'edit' },
      subjects: [{ kind: 'Group', name: 'oidc:sales' }],
    });
  });

  test('with an unknown Pod Security level holds the assignment', () => {
    expect(guarded('sales', { podSecurity: 'strict' }).held).toEqual([
      expect.stringContaining(
        'namespaceService.podSecurity is "strict": write privileged, baseline or restricted',
      ),
    ]);
  });
});

test('ansible-pull runs as the user that ansible-user creates, named after environment and target', () => {
  const { manifests } = RECONCILERS['ansible-pull'] ?? { manifests: {} };
  const { files, held } = renderBuiltIn({
    clusterType: { reconciler: 'ansible-pull', namespaceService: 'ansible-user', configType: 'shell' },
    target: { manifests },
    config: { reconciler: { ownUser: true } },
  });
  expect(held).toEqual([]);
  expect(files['namespace.yaml']).toContain('name: "dev-shop-web"');
  expect(files['reconciler.yaml']).toContain('User=dev-shop-web\n');
});

test('ansible-user holds an assignment whose name is not a valid Linux user name', () => {
  const { held } = renderBuiltIn({
    clusterType: { namespaceService: 'ansible-user' },
    target: { name: `shop-${'w'.repeat(30)}` },
  });
  expect(held).toEqual([expect.stringContaining('cannot be the name of a Linux user')]);
});
