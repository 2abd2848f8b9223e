import { afterAll, beforeAll, expect, it } from 'vitest';
import { openClusterAccess } from '../../../agent/apply/kubernetes/api/cluster-access.ts';
import type { KubernetesApi, LiveObject } from '../../../agent/apply/kubernetes/api/kubernetes-api.ts';
import { openKubernetesApi } from '../../../agent/apply/kubernetes/api/open-kubernetes-api.ts';
import { kubernetesTarget } from '../../../agent/apply/kubernetes/kubernetes-target.ts';
import { findPackage } from '../../../agent/store/applied/packages.ts';
import type { Json } from '../../../bundles/json/canonical.ts';
import { assembleKubernetes } from '../../../scheduler/assemble/bundle/assemble-kubernetes.ts';
import type { KubernetesInput } from '../../../scheduler/model/site-input.ts';
import {
  copiesIn,
  createSite,
  FLEET,
  type KubernetesPackage,
  type KubernetesSite,
} from '../../agent/apply/kubernetes/kubernetes-site.ts';
import { describeOnKubernetes } from '../../harness/kubernetes/describe-on-kubernetes.ts';
import type { OwnCluster } from '../../harness/kubernetes/cluster.ts';
import { startOwnCluster } from '../../harness/kubernetes/own-cluster.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { ownNamespace } from './site-values/own-namespace.ts';
import { clusterType, renderedFiles, renderedPackage, target } from '../../scheduler/model-objects.ts';

const signal = new AbortController().signal;
const at = { file: 'workload.yaml', line: 1, column: 1 };

const deployment = (name: string, reads: string): string => `apiVersion: apps/v1
kind: Deployment
metadata: {name: ${name}}
spec:
  replicas: 1
  selector: {matchLabels: {app: ${name}}}
  template:
    metadata: {labels: {app: ${name}}}
    spec:
      containers:
        - name: app
          image: r.example/app@sha256:${'a'.repeat(64)}
          envFrom: [{configMapRef: {name: ${reads}}}]
`;
const configMap = (name: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}}\ndata: {LINE: "0"}\n`;

const inputs: readonly KubernetesInput[] = [
  {
    name: 'line',
    schema: { type: 'integer' },
    to: { kind: 'ConfigMap', name: 'settings', key: 'LINE', restart: true },
    at,
  },
  {
    name: 'oven',
    schema: { type: 'integer' },
    to: { kind: 'ConfigMap', name: 'oven', key: 'LINE', restart: true },
    at,
  },
  {
    name: 'replicas',
    schema: { type: 'integer' },
    default: 2,
    to: { kind: 'Deployment', name: 'bake', apiVersion: undefined, pointer: '/spec/replicas' },
    at,
  },
];

/** The package of two applications as the build makes it. */
const packageOf = (): KubernetesPackage => {
  const made = assembleKubernetes(
    renderedPackage(
      clusterType('edge', { configType: 'configmap' }),
      target('shop/web', { at, siteInputs: inputs, siteConfig: true }),
      {
        namespace: 'shop',
        files: renderedFiles({
          'namespace.yaml': 'apiVersion: v1\nkind: Namespace\nmetadata: {name: shop}\n',
          'platform-config.yaml':
            'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: platform-config}\ndata: {region: eu}\n',
        }),
      },
    ),
    {
      shown: 'shop/',
      files: new Map(
        Object.entries({
          'maps.yaml': [configMap('settings'), configMap('oven')].join('---\n'),
          'print.yaml': deployment('print', 'settings'),
          'bake.yaml': deployment('bake', 'oven'),
        }).map(([path, text]) => [path, Buffer.from(text)]),
      ),
    },
    new Map(),
  );
  const files = made.files.filter(({ path }) => path !== 'kustomization.yaml');
  return {
    id: made.id,
    files: Object.fromEntries(files.map(({ path, bytes }) => [path, bytes.toString()])),
    inputs: made.siteInputs.map(({ schema: _, ...field }) => field),
    configs: made.siteConfigs ?? [],
  };
};

describeOnKubernetes(['kwok'], 'site values on clusters', ({ kube }, { kwok }) => {
  let clusters: readonly OwnCluster[] = [];
  let apis: readonly KubernetesApi[] = [];
  let folder: TemporaryDirectory;

  beforeAll(async () => {
    folder = await temporaryDirectory('site-values');
    clusters = await Promise.all([1, 2].map(() => startOwnCluster({ kube, kwok, nodes: 1 })));
    apis = await Promise.all(
      clusters.map(async ({ kubeconfig }) =>
        openKubernetesApi(await openClusterAccess({ kubeconfig, context: '' }), {
          patienceMs: 30_000,
          requestMs: 30_000,
        }),
      ),
    );
  });
  afterAll(async () => {
    for (const api of apis) await api.close();
    for (const cluster of clusters) await cluster[Symbol.asyncDispose]();
    await folder?.[Symbol.asyncDispose]();
  });

  const siteOn = (index: number, values: Readonly<Record<string, Json>>): Promise<KubernetesSite> =>
    createSite(
      kubernetesTarget({
        open: async () => apis[index] as KubernetesApi,
        fleet: FLEET,
        healthTimeoutMs: 30_000,
        stepTimeoutMs: 30_000,
        adopt: 'ifUnowned',
        copies: copiesIn(folder.path),
      }),
      values,
    );
  const read = async (index: number, kind: 'ConfigMap' | 'Deployment', name: string): Promise<LiveObject> => {
    const apiVersion = kind === 'Deployment' ? 'apps/v1' : 'v1';
    const live = await apis[index]?.read({ apiVersion, kind, name, namespace: 'shop' }, signal);
    return live ?? expect.unreachable(`${kind} ${name} is not there`);
  };
  const specOf = async (index: number, name: string) =>
    (await read(index, 'Deployment', name))['spec'] as {
      readonly replicas: number;
      readonly template: object;
    };
  /** Content of all ConfigMaps, and for each Deployment what makes its pods new. */
  const stateOf = async (index: number) => ({
    settings: (await read(index, 'ConfigMap', 'settings'))['data'],
    oven: (await read(index, 'ConfigMap', 'oven'))['data'],
    config: (await read(index, 'ConfigMap', 'platform-config'))['data'],
    print: JSON.stringify((await specOf(index, 'print')).template),
    bake: JSON.stringify((await specOf(index, 'bake')).template),
    replicas: (await specOf(index, 'bake')).replicas,
  });

  it('are in the objects of each site, from one bundle, and restart only pods whose values changed', async () => {
    const shop = packageOf();
    await using one = await siteOn(0, { line: 7, oven: 1, replicas: 1 });
    await using two = await siteOn(1, { line: 8, oven: 1, replicas: 3 });
    for (const site of [one, two])
      expect(await site.release([shop])).toEqual([{ assignment: 'shop-web', outcome: 'created' }]);
    const bundles = [one, two].map(({ agent }) => findPackage(agent.state, 'shop-web')?.current?.bundle);
    expect(bundles[0]).toBe(bundles[1]);
    const [before, other] = [await stateOf(0), await stateOf(1)];
    expect([before.settings, other.settings]).toEqual([{ LINE: '7' }, { LINE: '8' }]);
    expect([before.replicas, other.replicas]).toEqual([1, 3]);
    expect(before.config).toEqual({ region: 'eu', line: '7', oven: '1', replicas: '1' });
    expect(before.print).not.toBe(other.print);
    expect(before.bake).toBe(other.bake);

    one.setValues({ line: 9, oven: 1, replicas: 1 });
    await one.release([shop]);
    const after = await stateOf(0);
    expect(after).toMatchObject({ settings: { LINE: '9' }, oven: { LINE: '1' }, bake: before.bake });
    expect(after.print).not.toBe(before.print);
    expect(await stateOf(1)).toEqual(other);

    // The same values again write nothing, and a value that nothing else reads restarts nothing.
    one.setValues({ line: 9, oven: 1, replicas: 2 });
    await one.release([shop]);
    expect(await stateOf(0)).toEqual({
      ...after,
      replicas: 2,
      config: { region: 'eu', line: '9', oven: '1', replicas: '2' },
    });
  }, 240_000);

  it('of 20 sites on one API server differ in 20 ConfigMaps with one bundle, and a changed value replaces the pods of one site alone', async () => {
    const shop = packageOf();
    const [cluster] = clusters;
    if (!cluster) throw new Error('no cluster');
    const through = await openClusterAccess({ kubeconfig: cluster.kubeconfig, context: '' });
    await using stack = new AsyncDisposableStack();
    const numbers = Array.from({ length: 20 }, (_, at) => at + 1);
    const namespaceOf = (number: number): string => `plant-${String(number).padStart(2, '0')}`;
    const sites = await Promise.all(
      numbers.map(async (number) => {
        const { access } = stack.use(await ownNamespace(through, 'shop', namespaceOf(number)));
        const api = openKubernetesApi(access, { patienceMs: 60_000, requestMs: 60_000 });
        stack.defer(() => api.close());
        return stack.use(
          await createSite(
            kubernetesTarget({
              open: async () => api,
              fleet: FLEET,
              healthTimeoutMs: 120_000,
              stepTimeoutMs: 120_000,
              adopt: 'ifUnowned',
              copies: copiesIn(folder.path),
            }),
            { line: number, oven: 1, replicas: 1 },
          ),
        );
      }),
    );
    for (const site of sites)
      expect(await site.release([shop])).toEqual([{ assignment: 'shop-web', outcome: 'created' }]);
    const bundles = sites.map(({ agent }) => findPackage(agent.state, 'shop-web')?.current?.bundle);
    expect(new Set(bundles).size).toBe(1);

    const inAll = async (path: string): Promise<readonly LiveObject[]> => {
      const { body } = await cluster.request('GET', path);
      const { items } = body as { readonly items: readonly LiveObject[] };
      return items.filter(({ metadata }) => metadata.namespace?.startsWith('plant-'));
    };
    const linesOf = async () =>
      (await inAll('/api/v1/configmaps'))
        .filter(({ metadata }) => metadata.name === 'settings')
        .map(({ metadata, ...rest }) => [
          metadata.namespace,
          (rest['data'] as { readonly LINE: string }).LINE,
        ]);
    const expected = (changed?: number) =>
      numbers.map((number) => [namespaceOf(number), String(number === changed ? 99 : number)]);
    expect(await linesOf()).toEqual(expected());
    /** The pods that run, by namespace and application; a Deployment that rolls has those of two templates for a moment. */
    const podsOf = async (): Promise<ReadonlyMap<string, string>> =>
      new Map(
        (await inAll('/api/v1/pods'))
          .filter(({ metadata }) => metadata['deletionTimestamp'] === undefined)
          .map(({ metadata }) => [
            `${metadata.namespace}/${metadata.labels?.['app']}`,
            `${metadata.name} ${metadata.uid}`,
          ]),
      );
    const before = await podsOf();
    expect(before.size).toBe(40);

    sites[6]?.setValues({ line: 99, oven: 1, replicas: 1 });
    for (const site of sites) await site.release([shop]);
    expect(await linesOf()).toEqual(expected(7));
    const replaced = async (): Promise<readonly string[]> => {
      const after = await podsOf();
      expect(after.size).toBe(40);
      return [...before].filter(([key, pod]) => after.get(key) !== pod).map(([key]) => key);
    };
    await expect.poll(replaced).toEqual(['plant-07/print']);
  }, 300_000);

  it('fail the package when a value is not granted or reaches a protected field, before anything is written', async () => {
    const shop = packageOf();
    await using site = await siteOn(0, { line: 7 });
    const [first] = shop.inputs ?? [];
    const evil = { ...first, pointer: '/0/metadata/namespace', as: undefined, restart: undefined };
    const { as: _, restart: __, ...field } = evil;
    const stolen: KubernetesPackage = {
      ...shop,
      id: 'evil',
      inputs: [field as NonNullable<typeof first>],
      configs: [],
    };
    expect(await site.release([stolen])).toMatchObject([
      { assignment: 'evil', outcome: 'failed', code: 'OUT_OF_BOUNDS' },
    ]);
  }, 120_000);
});
