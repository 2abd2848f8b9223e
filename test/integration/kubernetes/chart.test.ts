import { readFile, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parseAllDocuments, parse } from 'yaml';
import { compareBytes } from '../../../bundles/digest.ts';
import { describeOnVersions } from '../../harness/run/describe-on-versions.ts';
import { runCommand } from '../../harness/run/run-command.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';

const DEPLOY = join(import.meta.dirname, '../../../deploy');
const CHART = join(DEPLOY, 'chart');

type Item = {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly annotations?: object };
};

const OFFLINE = { enabled: true, rootSha256: '0'.repeat(64) };

/** Variants of the manifests, and the values of the chart that give the same. */
const VARIANTS = [
  { overlay: 'online', components: [], values: { enrolment: 'fleet-agent-enrolment' } },
  {
    overlay: 'online',
    components: ['cluster-admin', 'metrics'],
    values: { enrolment: 'fleet-agent-enrolment', clusterAdmin: true, metrics: { enabled: true } },
  },
  { overlay: 'offline', components: [], values: { offline: OFFLINE } },
  {
    overlay: 'offline',
    components: ['single-node', 'metrics', 'k3s'],
    values: {
      offline: {
        ...OFFLINE,
        containerd: '/run/k3s/containerd',
        ctr: '/var/lib/rancher/k3s/data/current/bin/ctr',
      },
      state: { hostPath: '/var/lib/fleet-agent' },
      metrics: { enabled: true },
    },
  },
] as const;

describeOnVersions('helm', ['kustomize'], 'the chart of the agent', ({ helm, kustomize }) => {
  let folder: TemporaryDirectory;

  beforeAll(async () => {
    folder = await temporaryDirectory('chart');
  });
  afterAll(() => folder[Symbol.asyncDispose]());

  const template = async (values: object, namespace = 'fleet-agent') => {
    const file = join(folder.path, 'values.yaml');
    await writeFile(file, JSON.stringify({ image: { tag: 'latest' }, ...values }));
    return runCommand([helm, 'template', 'any', CHART, `--namespace=${namespace}`, `--values=${file}`]);
  };
  const rendered = async (values: object, namespace?: string): Promise<readonly Item[]> => {
    const { code, stdout, stderr } = await template(values, namespace);
    expect(code, stderr).toBe(0);
    return itemsOf(stdout);
  };
  const built = async (overlay: string, components: readonly string[]): Promise<readonly Item[]> => {
    const from = (name: string): string => relative(folder.path, join(DEPLOY, 'kubernetes', name));
    const text = JSON.stringify({ resources: [from(overlay)], components: components.map(from) });
    await writeFile(join(folder.path, 'kustomization.yaml'), text);
    const { code, stdout, stderr } = await runCommand([kustomize, 'build', folder.path]);
    expect(code, stderr).toBe(0);
    return itemsOf(stdout);
  };

  it.each(VARIANTS)(
    'is what the manifests are: $overlay $components',
    async ({ overlay, components, values }) => {
      const chart = await rendered(values);
      // Helm makes the namespace of a release, with --create-namespace. With Kustomize, a person makes the ConfigMap of the loaders.
      const manifests = (await built(overlay, components)).filter(({ kind }) => kind !== 'Namespace');
      const own = chart.filter(({ kind }) => kind !== 'ConfigMap').map(withoutConfigMark);
      expect(byName(own)).toEqual(byName(manifests));
    },
  );

  it('lies in the namespace of its release, and tells the agent so', async () => {
    const values = { enrolment: 'e', clusterAdmin: true, metrics: { enabled: true }, offline: OFFLINE };
    const items = await rendered(values, 'edge');
    const text = JSON.stringify(items);
    expect(text).not.toContain('"namespace":"fleet-agent"');
    expect(text).toContain('{"name":"FLEET_AGENT_NAMESPACE","value":"edge"}');
    const binding = items.find(({ kind }) => kind === 'ClusterRoleBinding');
    expect(binding?.metadata.name).toBe('fleet-agent-edge');
    const volumes = items
      .filter(({ kind }) => kind === 'PersistentVolume')
      .map(({ metadata }) => metadata.name);
    expect(volumes).toContain('fleet-agent-edge-media');
  });

  it('has names as text, also those that YAML reads as numbers or truth values', async () => {
    const values = {
      enrolment: 'on',
      clusterAdmin: true,
      metrics: { enabled: true, from: '2024' },
      state: { storageClass: 'true' },
    };
    const items = await rendered(values, '1e3');
    const text = JSON.stringify(items);
    expect(items.filter(({ metadata }) => (metadata.namespace ?? '1e3') !== '1e3')).toEqual([]);
    expect(text).toContain('{"name":"FLEET_AGENT_NAMESPACE","value":"1e3"}');
    expect(text).toContain('"kubernetes.io/metadata.name":"2024"');
    expect(text).toContain('"storageClassName":"true"');
    expect(text).toContain('"secretName":"on"');
  });

  it('writes the configuration, starts agent and loaders again when it changes, and keeps state and what is shared after its removal', async () => {
    const one = await rendered({
      config: { registry: 'oci://registry.example/fleet', windows: ['0 22 * * *'] },
    });
    const two = await rendered({ config: { registry: 'oci://registry.example/other' } });
    const map = one.find(({ kind }) => kind === 'ConfigMap') as Item & {
      readonly data: Record<string, string>;
    };
    expect(parse(map.data['agent.yaml'] ?? '')).toEqual({
      registry: 'oci://registry.example/fleet',
      windows: ['0 22 * * *'],
    });
    const pods = [one, two].map((items) => JSON.stringify(items.find(({ kind }) => kind === 'Deployment')));
    expect(pods[0]).not.toEqual(pods[1]);
    const loaders: string[] = [];
    for (const digit of ['0', '1']) {
      const items = await rendered({ offline: { enabled: true, rootSha256: digit.repeat(64) } });
      const { spec } = (items.find(({ kind }) => kind === 'DaemonSet') ?? {}) as { readonly spec?: object };
      loaders.push(JSON.stringify(spec));
    }
    expect(loaders[0]).not.toEqual(loaders[1]);
    for (const kept of one.filter(({ kind }) => KEPT.has(kind)))
      expect(kept.metadata.annotations).toEqual({ 'helm.sh/resource-policy': 'keep' });
  });

  it.each([
    [{ enrollment: 'x' }, /enrollment/],
    [{ offline: { enabled: 'yes' } }, /offline.*boolean/s],
    [{ offline: { enabled: true } }, /offline\.rootSha256 is missing/],
    [{ offline: { ...OFFLINE, rootSha256: 'x' } }, /rootSha256/],
  ])('refuses %j with its name', async (values, message) => {
    const { code, stderr } = await template(values);
    expect(code).not.toBe(0);
    expect(stderr).toMatch(message);
  });

  it('has the version of the programs', async () => {
    const { version } = JSON.parse(await readFile(join(DEPLOY, '../package.json'), 'utf8')) as {
      readonly version: string;
    };
    expect(parse(await readFile(join(CHART, 'Chart.yaml'), 'utf8'))).toMatchObject({
      version,
      appVersion: version,
    });
  });
});

const itemsOf = (text: string): readonly Item[] =>
  parseAllDocuments(text)
    .map((document) => document.toJS() as Item | null)
    .filter((item) => item !== null);

/** Without the annotation by which another configuration starts pods again. install.sh and Helm add it. */
const withoutConfigMark = (item: Item): Item =>
  JSON.parse(
    JSON.stringify(item).replace(/,"annotations":\{"fleet-ferry\/config":"[0-9a-f]+"\}/, ''),
  ) as Item;

/** Kinds that Helm keeps when it removes a release; they have an annotation for Helm alone. */
const KEPT: ReadonlySet<string> = new Set([
  'CustomResourceDefinition',
  'PersistentVolumeClaim',
  'PriorityClass',
]);

/** The objects by kind and name, without the mark of those that are kept. */
const byName = (items: readonly Item[]): Readonly<Record<string, object>> =>
  Object.fromEntries(
    items
      .map((item): [string, object] => {
        const { annotations: _, ...metadata } = item.metadata;
        const isKept = KEPT.has(item.kind);
        return [`${item.kind} ${metadata.name}`, sorted(isKept ? { ...item, metadata } : item) as object];
      })
      .toSorted(([a], [b]) => compareBytes(a, b)),
  );

/** With entries that have names (variables, volumes, containers) in the order of their names. */
const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) {
    const nameOf = (one: unknown): string => (one as { readonly name?: string } | null)?.name ?? '';
    return value.map(sorted).toSorted((a, b) => compareBytes(nameOf(a), nameOf(b)));
  }
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, sorted(one)]));
};
