import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openClusterAccess } from '../../../agent/apply/kubernetes/api/cluster-access.ts';
import type { KubernetesApi } from '../../../agent/apply/kubernetes/api/kubernetes-api.ts';
import { openKubernetesApi } from '../../../agent/apply/kubernetes/api/open-kubernetes-api.ts';
import { kubernetesTarget } from '../../../agent/apply/kubernetes/kubernetes-target.ts';
import { reconcile } from '../../../agent/apply/reconcile.ts';
import { parseManifests } from '../../../agent/model/parse-manifests.ts';
import type { Target } from '../../../agent/model/target.ts';
import { lookAtDrift, observe } from '../../../agent/observe/observe.ts';
import { writeExactJson } from '../../../bundles/json/exact-json.ts';
import {
  copiesIn,
  createSite,
  FLEET,
  type KubernetesSite,
  pack,
} from '../../agent/apply/kubernetes/kubernetes-site.ts';
import { writesOf } from '../../harness/kubernetes/audit-log.ts';
import type { OwnCluster } from '../../harness/kubernetes/cluster.ts';
import { startOwnCluster } from '../../harness/kubernetes/own-cluster.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';

type Json = Record<string, any>;

const yaml = (...objects: readonly object[]): string =>
  objects.map((object) => `${JSON.stringify(object)}\n`).join('---\n');

const UNWATCHED = { 'fleet-ferry/wait': 'disabled' };

const definition = (plural: string, kind: string, more: object = {}, schema: object = {}): object => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural}.${plural}.example` },
  spec: {
    group: `${plural}.example`,
    scope: 'Namespaced',
    names: { plural, singular: kind.toLowerCase(), kind },
    ...more,
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, ...schema },
        },
      },
    ],
  },
});

const deployment = (ns: string, spec: Json = {}, container: Json = {}, pod: Json = {}): Json => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web', namespace: ns, annotations: UNWATCHED },
  spec: {
    selector: { matchLabels: { app: 'web' } },
    ...spec,
    template: {
      metadata: { labels: { app: 'web' } },
      spec: { containers: [{ name: 'a', image: 'a', ...container }], ...pod },
    },
  },
});

const autoscaler = (ns: string, minReplicas: number): object => ({
  apiVersion: 'autoscaling/v2',
  kind: 'HorizontalPodAutoscaler',
  metadata: { name: 'web', namespace: ns, annotations: UNWATCHED },
  spec: {
    scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
    minReplicas,
    maxReplicas: 9,
    metrics: [
      {
        type: 'Resource',
        resource: { name: 'cpu', target: { type: 'Utilization', averageUtilization: 50 } },
      },
    ],
  },
});

const map = (ns: string, name: string, data: object, metadata: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name, namespace: ns, ...metadata },
  data,
});

describeWith(['kube', 'kwok'], 'comparing, removing and owning on a cluster', ({ kube, kwok }) => {
  let cluster: OwnCluster;
  let api: KubernetesApi;
  let folder: TemporaryDirectory;
  let namespaces = 0;

  const target = (): Target =>
    kubernetesTarget({
      open: async () => api,
      fleet: FLEET,
      healthTimeoutMs: 20_000,
      stepTimeoutMs: 20_000,
      adopt: 'ifUnowned',
      copies: copiesIn(folder.path),
    });
  const newSite = (): Promise<KubernetesSite> => createSite(target());
  const ask = async (method: string, path: string, body?: object): Promise<Json> => {
    const answer = await cluster.request(method, path, body);
    expect(answer.status, `${method} ${path}: ${JSON.stringify(answer.body)}`).toBeLessThan(300);
    return answer.body as Json;
  };
  const get = async (path: string): Promise<Json | undefined> => {
    const { status, body } = await cluster.request('GET', path);
    return status === 404 ? undefined : (body as Json);
  };
  const newNamespace = async (): Promise<string> => {
    namespaces += 1;
    const name = `case-${namespaces}`;
    await ask('POST', '/api/v1/namespaces', { metadata: { name } });
    return name;
  };
  const kubectl = async (args: readonly string[], input?: string): Promise<string> => {
    const { code, stdout, stderr } = await cluster.kubectl(args, input === undefined ? {} : { input });
    expect(code, stderr).toBe(0);
    return stdout;
  };
  const webOf = (ns: string): string => `/apis/apps/v1/namespaces/${ns}/deployments/web`;
  const mapOf = (ns: string, name: string): string => `/api/v1/namespaces/${ns}/configmaps/${name}`;
  const driftOf = async ({ agent }: KubernetesSite): Promise<readonly Json[]> =>
    (await lookAtDrift(agent)).flatMap(({ drift }) => drift as readonly Json[]);
  const right = async (site: KubernetesSite, ...objects: readonly object[]): Promise<void> => {
    for (const result of await site.release([pack('app', yaml(...objects))]))
      expect(result).not.toMatchObject({ outcome: 'failed' });
  };
  const until = (is: () => Promise<void>): Promise<void> =>
    expect.poll(is, { timeout: 20_000 }).toBeUndefined();

  beforeAll(async () => {
    folder = await temporaryDirectory('kubernetes-compare');
    cluster = await startOwnCluster({ kube, kwok, nodes: 1, audit: true });
    api = openKubernetesApi(await openClusterAccess({ kubeconfig: cluster.kubeconfig, context: '' }), {
      patienceMs: 30_000,
      requestMs: 30_000,
    });
  });
  afterAll(async () => {
    await api?.close();
    await cluster?.[Symbol.asyncDispose]();
    await folder?.[Symbol.asyncDispose]();
  });

  it('reads every number as Go does, and refuses those that the server would round', async () => {
    const ns = await newNamespace();
    await kubectl(['apply', '-f', '-'], yaml(definition('meters', 'Meter')));
    await kubectl(['wait', '--for=condition=Established', 'crd/meters.meters.example']);
    const digits = (max: number) => fc.stringMatching(new RegExp(`^\\d{1,${max}}$`));
    const sign = fc.constantFrom('', '-', '+');
    const literal = fc.oneof(
      fc.tuple(sign, digits(25)).map((parts) => parts.join('')),
      fc
        .tuple(sign, fc.constantFrom('0x', '0b', '0o', '0', '0X'), fc.stringMatching(/^[\da-fA-F_]{1,20}$/))
        .map((parts) => parts.join('')),
      fc
        .tuple(sign, digits(18), fc.constantFrom('.', '.5', 'e3', 'e-7', 'E+21', '.25e2', 'e400', '_0'))
        .map((parts) => parts.join('')),
      fc.stringMatching(/^[-+]?[\d._eExob]{1,8}$/),
      fc.bigInt({ min: -(2n ** 63n) - 4n, max: 2n ** 64n }).map(String),
    );
    const literals = fc
      .sample(literal, 600)
      .filter((text) => !/^[-+._]*$/.test(text))
      .concat(
        '9007199254740993',
        '-9223372036854775808',
        '9223372036854775807',
        '0x7fffffffffffffff',
        '.',
        'e5',
      );
    const meter = (fields: readonly string[]): string =>
      `apiVersion: meters.example/v1\nkind: Meter\nmetadata: {name: m, namespace: ${ns}}\nspec:\n${fields
        .map((text, index) => `  v${index}: ${text}\n`)
        .join('')}`;
    const ours = (text: string): string | undefined => {
      try {
        const [document] = parseManifests(new Map([['m.yaml', Buffer.from(meter([text]))]]));
        return writeExactJson((document?.value['spec'] as Json)['v0']);
      } catch {
        return undefined;
      }
    };
    const stored = async (texts: readonly string[]): Promise<readonly string[]> => {
      const path = ['get', 'meter', 'm', '-n', ns, '-o', 'json'];
      await kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], meter(texts));
      const shown = await kubectl(path);
      return texts.map(
        (_, index) => new RegExp(`"v${index}": ("(?:[^"\\\\]|\\\\.)*"|[^,\\s]+)`).exec(shown)?.[1] ?? '',
      );
    };
    const taken = literals.filter((text) => ours(text) !== undefined);
    const go = await stored(taken);
    for (const [index, text] of taken.entries()) {
      const read = ours(text) ?? '';
      const server = go[index] ?? '';
      const isWhole = /^-?\d+$/.test(read) && /^-?\d+$/.test(server) && Number.isSafeInteger(Number(server));
      if (read.startsWith('"') || isWhole) expect(read, text).toBe(server);
      else expect(Number(read), text).toBe(Number(server));
      if (/^[-+]?[1-9]\d*$/.test(text))
        expect(BigInt(Number.isSafeInteger(Number(read)) ? read : text), text).toBe(BigInt(text));
    }
    const rounded = literals.filter((text) => ours(text) === undefined && /^[-+]?[1-9]\d*$/.test(text));
    expect(rounded.length).toBeGreaterThan(5);
    for (const [index, text] of (await stored(rounded)).entries())
      expect(text, rounded[index]).not.toBe(String(BigInt(rounded[index] ?? '')));
  });

  it('keeps long numbers of an object that it takes over and gives back', async () => {
    const ns = await newNamespace();
    await kubectl(['apply', '-f', '-'], yaml(definition('gauges', 'Gauge')));
    await kubectl(['wait', '--for=condition=Established', 'crd/gauges.gauges.example']);
    const gauge = (serial: string): string =>
      `apiVersion: gauges.example/v1\nkind: Gauge\nmetadata: {name: g, namespace: ${ns}, annotations: {fleet-ferry/wait: disabled}}\nspec: {serial: ${serial}, list: [9007199254740995]}\n`;
    const serial = () =>
      kubectl(['get', 'gauge', 'g', '-n', ns, '-o', 'jsonpath={.spec.serial} {.spec.list[0]}']);
    await kubectl(['create', '-f', '-'], gauge('9007199254740993'));
    await using site = await newSite();
    await site.release([pack('app', gauge('9223372036854775807'))]);
    expect(await serial()).toBe('9223372036854775807 9007199254740995');
    expect(await driftOf(site)).toEqual([]);
    await kubectl([
      'patch',
      'gauge',
      'g',
      '-n',
      ns,
      '--type=merge',
      '-p',
      '{"spec":{"serial":9223372036854775806}}',
    ]);
    expect(await driftOf(site)).toMatchObject([{ what: 'content' }]);
    await site.release([]);
    expect(await serial()).toBe('9007199254740993 9007199254740995');
  });

  it('tells absent, null and empty apart, in what is built in and in custom resources', async () => {
    const ns = await newNamespace();
    const policy = {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: { name: 'db', namespace: ns },
      spec: {
        podSelector: {},
        policyTypes: ['Ingress'],
        ingress: [{ from: [{ podSelector: { matchLabels: { a: 'b' } } }] }],
      },
    };
    const scraper = {
      apiVersion: 'scrapers.example/v1',
      kind: 'Scraper',
      metadata: { name: 'all', namespace: ns, annotations: UNWATCHED },
      spec: { everything: {}, nothing: [], unset: null, one: { a: 'b' } },
    };
    await using site = await newSite();
    await right(site, policy, definition('scrapers', 'Scraper'), scraper);
    const written = writesOf(await cluster.readAudit()).length;
    expect(await driftOf(site)).toEqual([]);
    const path = `/apis/scrapers.example/v1/namespaces/${ns}/scrapers/all`;
    expect((await get(path))?.['spec']).toEqual(scraper.spec);
    expect(writesOf(await cluster.readAudit()).length).toBe(written);
    const edits: readonly (readonly [string, string, object])[] = [
      ['networkpolicy', 'db', { op: 'add', path: '/spec/ingress/0/from/0/namespaceSelector', value: {} }],
      ['scraper', 'all', { op: 'remove', path: '/spec/everything' }],
      ['scraper', 'all', { op: 'remove', path: '/spec/nothing' }],
      ['scraper', 'all', { op: 'remove', path: '/spec/unset' }],
      ['scraper', 'all', { op: 'replace', path: '/spec/nothing', value: null }],
      ['scraper', 'all', { op: 'replace', path: '/spec/everything', value: [] }],
    ];
    for (const [kind, name, edit] of edits) {
      await kubectl(['patch', kind, name, '-n', ns, '--type=json', '-p', JSON.stringify([edit])]);
      expect(await driftOf(site), JSON.stringify(edit)).toMatchObject([{ what: 'content' }]);
      await observe(site.agent);
      expect(await driftOf(site), JSON.stringify(edit)).toEqual([]);
    }
    expect((await get(path))?.['spec']).toEqual(scraper.spec);
  });

  const FORMS: readonly (readonly [
    name: string,
    first: (ns: string) => Json,
    second: (ns: string) => Json,
  ])[] = [
    [
      'Recreate for the default strategy',
      (ns) => deployment(ns),
      (ns) => deployment(ns, { strategy: { type: 'Recreate' } }),
    ],
    [
      'another handler for a probe',
      (ns) => deployment(ns, {}, { livenessProbe: { httpGet: { path: '/', port: 80 } } }),
      (ns) => deployment(ns, {}, { livenessProbe: { exec: { command: ['true'] } } }),
    ],
    [
      'a volume of a type for the default one',
      (ns) => deployment(ns, {}, {}, { volumes: [{ name: 'v' }] }),
      (ns) => deployment(ns, {}, {}, { volumes: [{ name: 'v', configMap: { name: 'm' } }] }),
    ],
    [
      'a volume of another type',
      (ns) => deployment(ns, {}, {}, { volumes: [{ name: 'v', configMap: { name: 'm' } }] }),
      (ns) => deployment(ns, {}, {}, { volumes: [{ name: 'v', secret: { secretName: 's' } }] }),
    ],
    [
      'a value for a reference, of a variable',
      (ns) =>
        deployment(ns, {}, { env: [{ name: 'E', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }] }),
      (ns) => deployment(ns, {}, { env: [{ name: 'E', value: 'x' }] }),
    ],
  ];
  it.each(FORMS)('takes out a default that a new form forbids: %s', async (_, first, second) => {
    const ns = await newNamespace();
    await using site = await newSite();
    await right(site, first(ns));
    await right(site, second(ns));
    expect(await driftOf(site)).toEqual([]);
    await right(site, first(ns));
    expect(await driftOf(site)).toEqual([]);
  });

  it('takes out what a controller injected where the new form forbids it, and leaves it otherwise', async () => {
    const conversion = {
      strategy: 'Webhook',
      webhook: {
        conversionReviewVersions: ['v1'],
        clientConfig: { service: { namespace: 'default', name: 'hook', path: '/convert' } },
      },
    };
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/orders.orders.example';
    await using site = await newSite();
    await right(site, definition('orders', 'Order', { conversion }));
    const bundle = await kubectl([
      'get',
      'cm',
      '-n',
      'default',
      'kube-root-ca.crt',
      '-o',
      'jsonpath={.data.ca\\.crt}',
    ]);
    const caBundle = Buffer.from(bundle).toString('base64');
    await ask('PATCH', `${path}?fieldManager=cainjector`, {
      spec: { conversion: { webhook: { clientConfig: { caBundle } } } },
    });
    expect(await driftOf(site)).toEqual([]);
    const moved = {
      ...conversion,
      webhook: { ...conversion.webhook, conversionReviewVersions: ['v1', 'v1beta1'] },
    };
    await right(site, definition('orders', 'Order', { conversion: moved }));
    expect((await get(path))?.['spec'].conversion.webhook.clientConfig.caBundle).toBe(caBundle);
    await right(site, definition('orders', 'Order'));
    expect((await get(path))?.['spec'].conversion).toEqual({ strategy: 'None' });
    expect(await driftOf(site)).toEqual([]);
    await site.release([]);
  });

  const TOOLS = [
    'helm',
    'argocd-controller',
    'kustomize-controller',
    'fleetagent',
    'house-deployer',
    'kubectl-create',
  ];
  it.each(TOOLS)('reports what %s left in an object that it takes over, and no defaults', async (tool) => {
    const isApplier = /controller|house/.test(tool);
    const ns = await newNamespace();
    const old = deployment(
      ns,
      {},
      {
        env: [
          { name: 'LEVEL', value: 'info' },
          { name: 'DEBUG', value: '1' },
        ],
      },
    );
    const flags = isApplier ? ['apply', '--server-side'] : ['create'];
    await kubectl([...flags, `--field-manager=${tool}`, '-f', '-'], yaml(old));
    await using site = await newSite();
    await right(site, deployment(ns, {}, { env: [{ name: 'LEVEL', value: 'warning' }] }));
    const drift = await driftOf(site);
    expect(drift).toMatchObject([{ what: 'extra', stays: true }]);
    expect(drift[0]?.['message']).toBe(
      `Deployment ${ns}/web has fields beside those of the package: spec.template.spec.containers[name=a].env[name=DEBUG] of ${tool}`,
    );
    await ask('PATCH', `${webOf(ns)}?fieldManager=${tool}`, {
      spec: {
        template: {
          spec: { containers: [{ name: 'a', image: 'a', env: [{ name: 'LEVEL', value: 'warning' }] }] },
        },
      },
    });
    await observe(site.agent);
    expect(await driftOf(site)).toEqual([]);
  });

  it('sees nothing left in a definition, a Service and a claim that another tool made just so', async () => {
    const ns = await newNamespace();
    const objects = [
      definition('lamps', 'Lamp'),
      {
        apiVersion: 'v1',
        kind: 'Service',
        metadata: { name: 's', namespace: ns },
        spec: { selector: { app: 'web' }, ports: [{ port: 80 }] },
      },
      map(ns, 'm', { a: 'b' }),
    ];
    await kubectl(['create', '--field-manager=helm', '-f', '-'], yaml(...objects));
    await kubectl(['wait', '--for=condition=Established', 'crd/lamps.lamps.example']);
    await using site = await newSite();
    await right(site, ...objects);
    expect(await driftOf(site)).toEqual([]);
  });

  it('keeps the replicas of a workload that is handed to an autoscaler, at once and ever after', async () => {
    const ns = await newNamespace();
    await using site = await newSite();
    await right(site, deployment(ns, { replicas: 4 }));
    await right(site, deployment(ns), autoscaler(ns, 4));
    expect((await get(webOf(ns)))?.['spec'].replicas).toBe(4);
    expect(await driftOf(site)).toEqual([]);
    await right(site, deployment(ns, {}, { args: ['x'] }), autoscaler(ns, 6));
    await until(async () => {
      expect((await get(webOf(ns)))?.['spec'].replicas).toBe(6);
    });
    await right(site, deployment(ns, {}, { args: ['y'] }), autoscaler(ns, 6));
    expect((await get(webOf(ns)))?.['spec'].replicas).toBe(6);
    expect(await driftOf(site)).toEqual([]);
    await using other = await newSite();
    const second = await newNamespace();
    await right(other, deployment(second, { replicas: 3 }));
    await right(other, deployment(second));
    expect((await get(webOf(second)))?.['spec'].replicas).toBe(1);
  });

  it('removes what it wrote and somebody has changed by hand since, and leaves what a controller owns by now', async () => {
    const ns = await newNamespace();
    const data = { keep: '1', edited: '1', injected: '1' };
    const env = (names: readonly string[]) => ({ env: names.map((name) => ({ name, value: 'ours' })) });
    await using site = await newSite();
    await right(site, map(ns, 'm', data), deployment(ns, {}, env(['A', 'B'])));
    await ask('PATCH', `${mapOf(ns, 'm')}?fieldManager=kubectl-edit`, { data: { edited: '2' } });
    await ask('PATCH', `${mapOf(ns, 'm')}?fieldManager=injector`, { data: { injected: '2' } });
    await kubectl(['set', 'env', '-n', ns, 'deployment/web', 'B=theirs']);
    await right(site, map(ns, 'm', { keep: '1' }), deployment(ns, {}, env(['A'])));
    expect((await get(mapOf(ns, 'm')))?.['data']).toEqual({ keep: '1', injected: '2' });
    expect((await get(webOf(ns)))?.['spec'].template.spec.containers[0].env).toEqual([
      { name: 'A', value: 'ours' },
    ]);
    expect(await driftOf(site)).toEqual([]);
  });

  it('owns nothing because of annotations that were copied from an object of it', async () => {
    const ns = await newNamespace();
    const marks = { 'fleet-ferry/assignment': 'app', 'fleet-ferry/fleet': FLEET };
    const copied = (name: string, more: object = marks): Promise<Json> =>
      ask(
        'POST',
        `/api/v1/namespaces/${ns}/configmaps?fieldManager=operator`,
        map(ns, name, { by: 'operator' }, { annotations: more }),
      );
    await copied('child');
    await copied('other', { ...marks, 'fleet-ferry/fleet': 'elsewhere' });
    await using site = await newSite();
    await right(
      site,
      map(ns, 'parent', { a: '1' }),
      map(ns, 'child', { by: 'us' }),
      map(ns, 'other', { by: 'us' }),
    );
    await ask('DELETE', mapOf(ns, 'parent'));
    await copied('parent');
    expect(await driftOf(site)).toMatchObject([{ what: 'owner' }]);
    await site.release([]);
    for (const name of ['parent', 'child', 'other'])
      expect((await get(mapOf(ns, name)))?.['data'], name).toEqual({ by: 'operator' });
  });

  it('never removes a namespace because its objects have copied annotations', async () => {
    const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'copied' } };
    await using site = await newSite();
    await right(site, namespace, map('copied', 'parent', { a: '1' }));
    const { annotations } = (await get(mapOf('copied', 'parent')))?.['metadata'] as { annotations: object };
    await ask(
      'POST',
      '/api/v1/namespaces/copied/configmaps?fieldManager=operator',
      map('copied', 'child', { a: '1' }, { annotations }),
    );
    await site.release([]);
    expect(await get(mapOf('copied', 'parent'))).toBeUndefined();
    expect((await get(mapOf('copied', 'child')))?.['metadata'].deletionTimestamp).toBeUndefined();
  });

  it('knows its own object without the record of field managers, which a backup may lack', async () => {
    const ns = await newNamespace();
    await using site = await newSite();
    await right(site, map(ns, 'm', { a: '1', b: '1' }));
    await ask('PATCH', `${mapOf(ns, 'm')}?fieldManager=backup`, { metadata: { managedFields: [{}] } });
    await right(site, map(ns, 'm', { a: '1' }));
    expect((await get(mapOf(ns, 'm')))?.['data']).toEqual({ a: '1' });
    await site.release([]);
    expect(await get(mapOf(ns, 'm'))).toBeUndefined();
  });

  it('goes on with the inventory of an older agent, without drift and without a write', async () => {
    const ns = await newNamespace();
    await using site = await newSite();
    const objects = [map(ns, 'm', { a: '1' }), deployment(ns)];
    await right(site, ...objects);
    const { db } = site.agent.state;
    db.prepare(`UPDATE owned SET state = json_remove(state, '$.written', '$.before')`).run();
    const written = writesOf(await cluster.readAudit()).length;
    expect(await driftOf(site)).toEqual([]);
    await site.release([pack('app', `${yaml(...objects)}# another package of the same\n`)]);
    await reconcile(site.agent);
    expect(writesOf(await cluster.readAudit()).length).toBe(written);
    const stored = db.prepare(`SELECT json_extract(state, '$.written') FROM owned`).pluck().all();
    expect(stored.every((one) => typeof one === 'string' && one !== '')).toBe(true);
    await right(site, map(ns, 'm', { b: '1' }), deployment(ns));
    expect((await get(mapOf(ns, 'm')))?.['data']).toEqual({ b: '1' });
  });
});
