import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Agent } from '../../../agent/store/agent.ts';
import { openClusterAccess } from '../../../agent/apply/kubernetes/api/cluster-access.ts';
import type {
  KubernetesApi,
  LiveObject,
  ObjectRef,
} from '../../../agent/apply/kubernetes/api/kubernetes-api.ts';
import { openKubernetesApi } from '../../../agent/apply/kubernetes/api/open-kubernetes-api.ts';
import {
  type KubernetesTargetOptions,
  kubernetesTarget,
} from '../../../agent/apply/kubernetes/kubernetes-target.ts';
import { resume } from '../../../agent/apply/perform.ts';
import { reconcile } from '../../../agent/apply/reconcile.ts';
import type { Target } from '../../../agent/model/target.ts';
import { openOperation } from '../../../agent/store/journal/operations.ts';
import { lookAtDrift, observe } from '../../../agent/observe/observe.ts';
import { makeAllDue } from '../../../agent/store/applied/attempts.ts';
import { readOwned } from '../../../agent/store/applied/inventory.ts';
import { findPackage } from '../../../agent/store/applied/packages.ts';
import { generateAgeIdentity } from '../../../bundles/trust/age/recipient.ts';
import {
  copiesIn,
  createSite,
  FLEET,
  type KubernetesSite,
  pack,
} from '../../agent/apply/kubernetes/kubernetes-site.ts';
import { describeOnKubernetes } from '../../harness/kubernetes/describe-on-kubernetes.ts';
import { writesOf } from '../../harness/kubernetes/audit-log.ts';
import type { OwnCluster } from '../../harness/kubernetes/cluster.ts';
import { startLineTo } from '../../harness/kubernetes/line-to-cluster.ts';
import { startOwnCluster } from '../../harness/kubernetes/own-cluster.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { bundledAgentOnCluster } from './kubernetes-target/bundled-agent.ts';
import { clusterInTrouble } from './kubernetes-target/cluster-in-trouble.ts';
import { deletedMeanwhileOnCluster } from './kubernetes-target/deleted-meanwhile.ts';
import { faultsOnCluster } from './kubernetes-target/faults.ts';
import { healthOnCluster } from './kubernetes-target/health.ts';
import { incidentsOnCluster } from './kubernetes-target/incidents.ts';
import { killedOnCluster } from './kubernetes-target/killed-agent.ts';
import { leaseOnCluster } from './kubernetes-target/lease.ts';
import { refusalsOnCluster } from './kubernetes-target/refusals.ts';
import { secretsOnCluster } from './kubernetes-target/secrets.ts';
import { failureHooksOnCluster } from './kubernetes-target/failure-hooks.ts';
import { orderOnCluster } from './kubernetes-target/order.ts';
import { stepsOnCluster } from './kubernetes-target/steps.ts';

const signal = new AbortController().signal;

const namespace = (name: string): string =>
  `apiVersion: v1\nkind: Namespace\nmetadata: {name: ${name}}\n---\n`;
const configMap = (ns: string, name: string, data: string, annotations = '{}'): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}, namespace: ${ns}, annotations: ${annotations}}\ndata: ${data}\n---\n`;
const deployment = (ns: string, name: string, spec = '', pod = ''): string => `apiVersion: apps/v1
kind: Deployment
metadata: {name: ${name}, namespace: ${ns}}
spec:
  selector: {matchLabels: {app: ${name}}}
  ${spec}
  template:
    metadata: {labels: {app: ${name}}}
    spec:
      containers:
        - {name: app, image: app, ports: [{containerPort: 80}], resources: {limits: {cpu: 1000m}}}
      ${pod}
---
`;

describeOnKubernetes(['kwok'], 'a cluster as the target', ({ kube }, { kwok }) => {
  let cluster: OwnCluster;
  let api: KubernetesApi;
  let admin: KubernetesApi;
  let folder: TemporaryDirectory;
  let identity: string;

  const connect = async (
    patienceMs = 30_000,
    { kubeconfig }: Pick<OwnCluster, 'kubeconfig'> = cluster,
  ): Promise<KubernetesApi> =>
    openKubernetesApi(await openClusterAccess({ kubeconfig, context: '' }), {
      patienceMs,
      requestMs: 30_000,
    });
  const target = (more: Partial<KubernetesTargetOptions> = {}): Target =>
    kubernetesTarget({
      open: async () => api,
      fleet: FLEET,
      healthTimeoutMs: 20_000,
      stepTimeoutMs: 20_000,
      adopt: 'ifUnowned',
      copies: copiesIn(folder.path, identity),
      ...more,
    });
  const get = async (kind: string, ns: string, name: string): Promise<LiveObject | undefined> => {
    const apiVersion = { Deployment: 'apps/v1', Job: 'batch/v1' }[kind] ?? 'v1';
    const ref: ObjectRef = { apiVersion, kind, name, ...(ns !== '' && { namespace: ns }) };
    return admin.read(ref, signal);
  };
  const kubectl = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await cluster.kubectl(args);
    expect(code, stderr).toBe(0);
    return stdout;
  };
  const kubectlApply = async (yaml: string, ...flags: string[]): Promise<void> => {
    const { code, stderr } = await cluster.kubectl(['apply', ...flags, '-f', '-'], { input: yaml });
    expect(code, stderr).toBe(0);
  };
  /** What needs no kubectl, as that takes a process and asks for all kinds first. */
  const ask = async (method: string, path: string, body?: object): Promise<void> => {
    const answer = await cluster.request(method, path, body);
    expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
  };
  const makeNamespace = (name: string): Promise<void> =>
    ask('POST', '/api/v1/namespaces', { metadata: { name } });
  const mapsOf = (ns: string): string => `/api/v1/namespaces/${ns}/configmaps`;
  const makeMap = (ns: string, name: string, data?: object): Promise<void> =>
    ask('POST', mapsOf(ns), { metadata: { name }, ...(data && { data }) });
  const removeMap = (ns: string, name: string): Promise<void> => ask('DELETE', `${mapsOf(ns)}/${name}`);
  /** A merge patch. */
  const changeMap = (ns: string, name: string, change: object): Promise<void> =>
    ask('PATCH', `${mapsOf(ns)}/${name}`, change);
  /** What the last application of a package told of its objects. */
  const reasons = ({ events }: KubernetesSite): string =>
    JSON.stringify(events().findLast(({ detail }) => detail?.['changes'] !== undefined)?.detail);

  beforeAll(async () => {
    folder = await temporaryDirectory('kubernetes-target');
    ({ identity } = await generateAgeIdentity());
    cluster = await startOwnCluster({ kube, kwok, nodes: 1, audit: true, etcdQuota: 32 << 20 });
    api = await connect();
    admin = await connect();
  });
  afterAll(async () => {
    await api?.close();
    await admin?.close();
    await cluster?.[Symbol.asyncDispose]();
    await folder?.[Symbol.asyncDispose]();
  });

  it('applies a package in order until it is healthy, and a second time without any write', async () => {
    await using site = await createSite(target());
    const shop = pack(
      'shop',
      `${deployment('s2', 'web', 'replicas: 1')}${configMap('s2', 'web', '{a: "1"}')}${namespace('s2')}
apiVersion: v1
kind: Service
metadata: {name: web, namespace: s2}
spec: {selector: {app: web}, ports: [{port: 80}]}
---
apiVersion: v1
kind: Secret
metadata: {name: web, namespace: s2}
stringData: {password: hush}
---
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web, namespace: s2}
spec: {scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}, minReplicas: 1, maxReplicas: 1}
`,
    );
    // Its metrics come from nobody here, so its health is not waited for.
    const package1 = {
      ...shop,
      files: {
        'a.yaml':
          shop.files['app.yaml']?.replace(
            '{name: web, namespace: s2}\nspec: {scale',
            '{name: web, namespace: s2, annotations: {fleet-ferry/wait: disabled}}\nspec: {scale',
          ) ?? '',
      },
    };
    expect(await site.release([package1])).toEqual([{ assignment: 'shop', outcome: 'created' }]);
    expect(findPackage(site.agent.state, 'shop')).toMatchObject({ status: 'healthy' });
    expect((await get('Secret', 's2', 'web'))?.['data']).toEqual({ password: 'aHVzaA==' });
    const before = (await get('Deployment', 's2', 'web'))?.metadata;
    expect(before?.annotations).toMatchObject({
      'fleet-ferry/assignment': 'shop',
      'fleet-ferry/fleet': FLEET,
    });

    const written = writesOf(await cluster.readAudit()).length;
    expect(await lookAtDrift(site.agent)).toEqual([{ assignment: 'shop', drift: [] }]);
    site.agent.state.db.exec('UPDATE package SET current = NULL');
    await site.want([package1]);
    expect(await site.release([package1])).toMatchObject([{ assignment: 'shop' }]);
    expect(reasons(site)).toContain('"unchanged":6');
    expect(writesOf(await cluster.readAudit()).length).toBe(written);
    expect((await get('Deployment', 's2', 'web'))?.metadata.generation).toBe(before?.generation);
  });

  it('finds no change with a lost inventory, by dry runs only (S2, S3)', async () => {
    const yaml = `${namespace('s3')}${deployment('s3', 'web')}${configMap('s3', 'web', '{}')}
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: s3-all}
aggregationRule: {clusterRoleSelectors: [{matchLabels: {s3: "yes"}}]}
rules: []
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data, namespace: s3, creationTimestamp: null, annotations: {fleet-ferry/wait: disabled}}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
`;
    await using first = await createSite(target());
    expect(await first.release([pack('s3', yaml)])).toMatchObject([{ outcome: 'created' }]);
    const version = (await get('PersistentVolumeClaim', 's3', 'data'))?.metadata.resourceVersion;
    await using second = await createSite(target());
    expect(await second.release([pack('s3', yaml)])).toMatchObject([{ outcome: 'created' }]);
    expect(reasons(second)).toContain('"changes":[]');
    expect((await get('PersistentVolumeClaim', 's3', 'data'))?.metadata.resourceVersion).toBe(version);
  });

  it('writes nothing when an object would be refused, and lists all of these (P3)', async () => {
    await makeNamespace('p3');
    await using site = await createSite(target());
    const bad = `${configMap('p3', 'good', '{a: "1"}')}${configMap('p3', 'bad', '{a: 1}')}
apiVersion: v1
kind: Service
metadata: {name: worse, namespace: p3}
spec: {ports: [{port: 99999}]}
---
${deployment('p3', 'typo', 'replica: 3')}`;
    const [result] = await site.release([pack('p3', bad)]);
    expect(result).toMatchObject({ outcome: 'failed', code: 'API_REFUSED' });
    expect(result?.message).toMatch(/3 objects would be refused/);
    for (const said of [
      'ConfigMap p3/bad',
      'Service p3/worse',
      '99999',
      'Deployment p3/typo',
      'spec.replica',
    ])
      expect(result?.message).toContain(said);
    expect(await get('ConfigMap', 'p3', 'good')).toBeUndefined();
    expect(readOwned(site.agent.state, 'p3')).toEqual([]);
  });

  it('names a missing namespace with its object, and a kind that the cluster lacks (P7)', async () => {
    await using site = await createSite(target());
    const [absent] = await site.release([pack('absent', configMap('nowhere', 'web', '{}'))]);
    expect(absent).toMatchObject({ code: 'CLUSTER_LACKS' });
    expect(absent?.message).toContain(
      'ConfigMap web wants namespace nowhere, which is neither on the cluster nor',
    );
    const [unknown] = await site.release([
      pack('unknown', 'apiVersion: acme.example/v1\nkind: Rocket\nmetadata: {name: r, namespace: default}\n'),
    ]);
    expect(unknown).toMatchObject({ code: 'CLUSTER_LACKS' });
    expect(unknown?.message).toContain('Rocket (acme.example/v1) r in app.yaml');
  });

  it('names the version that replaces one which the cluster no longer has (P8)', async () => {
    await using site = await createSite(target());
    const gone = (apiVersion: string, kind: string): string =>
      `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: {name: old, namespace: default}\n---\n`;
    const all = `${gone('extensions/v1beta1', 'Ingress')}${gone('batch/v1beta1', 'CronJob')}${gone('acme.example/v1', 'Job')}`;
    const [result] = await site.release([pack('gone', all)]);
    expect(result).toMatchObject({ code: 'CLUSTER_LACKS' });
    expect(result?.message).toContain('old in app.yaml; it has Ingress as networking.k8s.io/v1');
    expect(result?.message).toContain('it has CronJob as batch/v1');
    expect(result?.message).not.toContain('it has Job as');
  });

  it('takes fields from other managers, with the reason naming them (S1)', async () => {
    await using site = await createSite(target());
    const yaml = (replicas: number) =>
      `${namespace('s1')}${deployment('s1', 'web', `replicas: ${replicas}`)}`;
    await site.release([pack('s1', yaml(1))]);
    await kubectl('scale', '-n', 's1', 'deployment/web', '--replicas=2');
    await site.release([pack('s1', yaml(3))]);
    expect(reasons(site)).toMatch(/spec\.replicas differs; takes spec\.replicas from kubectl/);
    expect((await get('Deployment', 's1', 'web'))?.['spec']).toMatchObject({ replicas: 3 });
  });

  it('reports fields that people added, and removes them with fields: strict (S4)', async () => {
    const strict = '{fleet-ferry/fields: strict}';
    const yaml = (annotations: string) =>
      `${namespace('s4')}${configMap('s4', 'web', '{a: "1"}', annotations)}${deployment('s4', 'web', 'replicas: 1').replace('namespace: s4}', `namespace: s4, annotations: ${annotations}}`)}`;
    const edit = async () => {
      // hostNetwork would take port 80 of the only node, and a second rollout would never end.
      const added = { hostPID: true, containers: [{ name: 'miner', image: 'miner' }] };
      const spec = JSON.stringify({ spec: { template: { spec: added } } });
      await kubectl('patch', '-n', 's4', 'deployment/web', '-p', spec);
      await changeMap('s4', 'web?fieldManager=node-fetch', { data: { b: '2' } });
      await changeMap('s4', 'web', { metadata: { labels: { team: 'night' } } });
      await kubectl('rollout', 'restart', '-n', 's4', 'deployment/web');
    };
    const pod = async () => {
      const { spec } = (await get('Deployment', 's4', 'web')) as unknown as {
        spec: { template: { spec: { hostPID?: boolean; containers: { name: string }[] } } };
      };
      const { hostPID = false, containers } = spec.template.spec;
      return [hostPID, ...containers.map(({ name }) => name).toSorted()];
    };
    await using site = await createSite(target());
    await site.release([pack('s4', yaml('{}'))]);
    await edit();
    const version = (await get('Deployment', 's4', 'web'))?.metadata.generation;
    const [seen] = await observe(site.agent);
    expect(seen).not.toHaveProperty('corrected');
    expect(seen?.drift.map(({ what, message }) => `${what} ${message}`)).toEqual([
      'extra ConfigMap s4/web has fields beside those of the package: data.b of node-fetch',
      'extra Deployment s4/web has fields beside those of the package: spec.template.spec.containers[name=miner] of kubectl-patch, spec.template.spec.hostPID of kubectl-patch',
    ]);
    await observe(site.agent);
    expect(site.events().filter(({ type }) => type === 'drift')).toHaveLength(1);
    expect((await get('Deployment', 's4', 'web'))?.metadata.generation).toBe(version);
    expect(await pod()).toEqual([true, 'app', 'miner']);

    expect(await site.release([pack('s4', yaml(strict))])).toMatchObject([{ outcome: 'configured' }]);
    expect((await get('ConfigMap', 's4', 'web'))?.['data']).toEqual({ a: '1' });
    expect(await pod()).toEqual([false, 'app']);
    await edit();
    expect(await observe(site.agent)).toMatchObject([
      { corrected: true, drift: [{ what: 'content' }, { what: 'content' }] },
    ]);
    expect((await get('ConfigMap', 's4', 'web'))?.['data']).toEqual({ a: '1' });
    expect(await pod()).toEqual([false, 'app']);
    expect(await lookAtDrift(site.agent)).toMatchObject([{ drift: [] }]);
  });

  it('removes fields and list items that leave the manifest (S7)', async () => {
    await using site = await createSite(target());
    const ports = (
      list: string,
    ) => `${namespace('s7')}${configMap('s7', 'web', list === 'two' ? '{a: "1", b: "2"}' : '{a: "1"}')}
apiVersion: v1
kind: Service
metadata: {name: web, namespace: s7}
spec: {selector: {app: web}, ports: [{name: http, port: 80}${list === 'two' ? ', {name: https, port: 443}' : ''}]}
`;
    await site.release([pack('s7', ports('two'))]);
    await site.release([pack('s7', ports('one'))]);
    expect((await get('ConfigMap', 's7', 'web'))?.['data']).toEqual({ a: '1' });
    const service = await get('Service', 's7', 'web');
    expect(service?.['spec']).toHaveProperty('ports.length', 1);
    expect(service?.['spec']).toMatchObject({ ports: [{ port: 80 }] });
  });

  it("takes over fields of kubectl's client-side apply, without keeping those that only kubectl had (S8)", async () => {
    await kubectlApply(`${namespace('s8')}${configMap('s8', 'web', '{old: "1", both: "1"}')}`);
    expect((await get('ConfigMap', 's8', 'web'))?.metadata.annotations).toHaveProperty([
      'kubectl.kubernetes.io/last-applied-configuration',
    ]);
    await using site = await createSite(target());
    await site.release([pack('s8', `${namespace('s8')}${configMap('s8', 'web', '{both: "1", new: "1"}')}`)]);
    const live = await get('ConfigMap', 's8', 'web');
    expect(live?.['data']).toEqual({ both: '1', new: '1' });
    expect(Object.keys(live?.metadata.annotations ?? {})).toEqual([
      'fleet-ferry/assignment',
      'fleet-ferry/fleet',
    ]);
    expect(reasons(site)).toContain('it existed before the package and had no owner of this fleet');
    expect(await lookAtDrift(site.agent)).toMatchObject([{ drift: [] }]);
    // What was there before us is there again, and is kubectl's.
    await site.release([]);
    const left = await get('ConfigMap', 's8', 'web');
    expect(left?.['data']).toEqual({ old: '1', both: '1' });
    expect(Object.keys(left?.metadata.annotations ?? {})).toEqual([
      'kubectl.kubernetes.io/last-applied-configuration',
    ]);
    expect(left?.metadata.managedFields?.map(({ manager }) => manager)).toEqual([
      'kubectl-client-side-apply',
    ]);
    await kubectlApply(configMap('s8', 'web', '{both: "2"}'));
    expect((await get('ConfigMap', 's8', 'web'))?.['data']).toEqual({ both: '2' });
  });

  it('restores what it took over: content, labels and managers, after a rollback, an update and the removal (A1)', async () => {
    const theirs = (name: string) =>
      configMap('a1', name, '{a: theirs, only: theirs}').replace(
        'annotations: {}',
        'labels: {team: line-4}, annotations: {note: x}',
      );
    const secret = 'apiVersion: v1\nkind: Secret\nmetadata: {name: key, namespace: a1}\nstringData: {';
    await kubectlApply(
      `${namespace('a1')}${theirs('one')}${theirs('two')}${secret}pin: tell-nobody}\n`,
      '--server-side',
    );
    const see = async () => {
      const found = [];
      for (const [kind, name] of [
        ['ConfigMap', 'one'],
        ['ConfigMap', 'two'],
        ['Secret', 'key'],
      ] as const) {
        const { metadata, ...rest } = (await get(kind, 'a1', name)) as LiveObject;
        const { resourceVersion: _, managedFields, ...meta } = metadata;
        found.push({
          ...rest,
          meta,
          managers: managedFields?.map(({ manager, fieldsV1 }) => ({ manager, fieldsV1 })),
        });
      }
      return found;
    };
    const before = await see();
    const ours = (name: string) => configMap('a1', name, '{a: ours}');
    const all = `${ours('one')}${ours('two')}${secret}pin: ours}\n`;
    const never = deployment('a1', 'web', 'replicas: 1', 'nodeSelector: {no: where}');
    // Its first release does not come up.
    await using site = await createSite(target({ healthTimeoutMs: 1000 }));
    expect(await site.release([pack('a1', `${all}---\n${never}`)])).toMatchObject([{ code: 'CHECK_FAILED' }]);
    expect(await see()).toEqual(before);
    // The second of two packages takes more, and does not come up either.
    await site.release([pack('a1', ours('one'))]);
    expect((await get('ConfigMap', 'a1', 'one'))?.['data']).toEqual({ a: 'ours' });
    expect(await site.release([pack('a1', `${all}---\n${never}`)])).toMatchObject([{ code: 'CHECK_FAILED' }]);
    expect((await see()).slice(1)).toEqual(before.slice(1));
    expect((await get('ConfigMap', 'a1', 'one'))?.['data']).toEqual({ a: 'ours' });
    // What leaves the package goes back, and the rest with the package.
    await site.release([pack('a1', all)]);
    expect((await get('Secret', 'a1', 'key'))?.['data']).toEqual({ pin: 'b3Vycw==' });
    await site.release([pack('a1', `${ours('one')}${secret}pin: ours}\n`)]);
    expect((await see())[1]).toEqual(before[1]);
    expect(await site.release([])).toMatchObject([{ outcome: 'deleted' }]);
    expect(await see()).toEqual(before);
    for (const name of await readdir(join(folder.path, 'replaced')))
      expect(await readFile(join(folder.path, 'replaced', name), 'latin1')).not.toMatch(
        /tell-nobody|dGVsbC1ub2JvZHk/,
      );
  });

  it('takes over an object without managers, without drift afterwards (S8)', async () => {
    await makeNamespace('s8b');
    // Made without a single field, it has no managers until somebody applies it.
    await makeMap('s8b', 'bare');
    await using site = await createSite(target());
    await site.release([pack('s8b', configMap('s8b', 'bare', '{a: "1"}'))]);
    expect((await get('ConfigMap', 's8b', 'bare'))?.['data']).toEqual({ a: '1' });
    expect(await lookAtDrift(site.agent)).toMatchObject([{ drift: [] }]);
  });

  it('recreates a Job whose template changed if it may, although the server quotes much of it (R1)', async () => {
    const job = (args: string) => `${namespace('r1')}apiVersion: batch/v1
kind: Job
metadata: {name: once, namespace: r1, annotations: {fleet-ferry/force: enabled}}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: app, image: app, args: [${args}]}]}}}
`;
    await using site = await createSite(target());
    await site.release([pack('r1', job('one'))]);
    const [again] = await site.release([pack('r1', job('two'))]);
    expect(again).toMatchObject({ outcome: 'configured' });
  });

  it('recreates an immutable Secret if it may, although its content is not reported (R1, S11)', async () => {
    const secret = (value: string, force: string) =>
      `${namespace('r1s')}apiVersion: v1\nkind: Secret\nimmutable: true\nmetadata: {name: pin, namespace: r1s, annotations: ${force}}\nstringData: {pin: ${value}}\n`;
    await using site = await createSite(target());
    await site.release([pack('r1s', secret('tell-nobody', '{}'))]);
    const [refused] = await site.release([pack('r1s', secret('tell-no-one', '{}'))]);
    expect(refused).toMatchObject({
      code: 'API_REFUSED',
      message: expect.stringContaining('fleet-ferry/force'),
    });
    expect(refused?.message).not.toMatch(/tell-no/);
    const [again] = await site.release([pack('r1s', secret('tell-no-one', '{fleet-ferry/force: enabled}'))]);
    expect(again).toMatchObject({ outcome: 'configured' });
  });

  it('follows the annotations of an object: ifNotPresent, ignore, prune and force (S10, R1)', async () => {
    await makeNamespace('s10');
    await makeMap('s10', 'there', { a: 'theirs' });
    await using site = await createSite(target());
    const yaml = `${configMap('s10', 'there', '{a: ours}', '{fleet-ferry/apply: ifNotPresent}')}${configMap('s10', 'absent', '{a: ours}', '{fleet-ferry/apply: ifNotPresent}')}${configMap('s10', 'never', '{a: ours}', '{fleet-ferry/apply: ignore}')}${configMap('s10', 'stays', '{a: ours}', '{fleet-ferry/prune: disabled}')}`;
    const fixed = (value: string, force: string) =>
      `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: fixed, namespace: s10, annotations: ${force}}\nimmutable: true\ndata: {a: ${value}}\n`;
    await site.release([pack('s10', `${yaml}${fixed('one', '{}')}`)]);
    expect((await get('ConfigMap', 's10', 'there'))?.['data']).toEqual({ a: 'theirs' });
    expect((await get('ConfigMap', 's10', 'absent'))?.['data']).toEqual({ a: 'ours' });
    expect(await get('ConfigMap', 's10', 'never')).toBeUndefined();
    expect(await lookAtDrift(site.agent)).toMatchObject([{ drift: [] }]);

    const uid = (await get('ConfigMap', 's10', 'fixed'))?.metadata.uid;
    const [refused] = await site.release([pack('s10', `${yaml}${fixed('two', '{}')}`)]);
    expect(refused).toMatchObject({ code: 'API_REFUSED' });
    expect((await get('ConfigMap', 's10', 'fixed'))?.metadata.uid).toBe(uid);
    const [forced] = await site.release([
      pack('s10', `${yaml}${fixed('two', '{fleet-ferry/force: enabled}')}`),
    ]);
    expect(forced).toMatchObject({ outcome: 'configured' });
    expect((await get('ConfigMap', 's10', 'fixed'))?.['data']).toEqual({ a: 'two' });
    expect((await get('ConfigMap', 's10', 'fixed'))?.metadata.uid).not.toBe(uid);

    await site.release([pack('s10', fixed('two', '{fleet-ferry/force: enabled}'))]);
    expect((await get('ConfigMap', 's10', 'stays'))?.metadata.annotations).toEqual({
      'fleet-ferry/prune': 'disabled',
    });
    expect(await get('ConfigMap', 's10', 'absent')).toBeUndefined();
    expect(await get('ConfigMap', 's10', 'there')).toBeDefined();
  });

  it('keeps objects with resource-policy: keep, and recreates the Job of a hook', async () => {
    await makeNamespace('helm');
    await using site = await createSite(target());
    const kept = `${configMap('helm', 'kept', '{a: b}', '{helm.sh/resource-policy: keep}')}${configMap('helm', 'goes', '{a: b}')}`;
    const job = (image: string) =>
      `apiVersion: batch/v1\nkind: Job\nmetadata: {name: migrate, namespace: helm, annotations: {helm.sh/hook: "pre-install,pre-upgrade", helm.sh/hook-delete-policy: before-hook-creation, fleet-ferry/wait: disabled}}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: a, image: ${image}}]}}}\n`;
    await site.release([pack('helm', `${kept}${job('shop:1')}`)]);
    const uid = (await get('Job', 'helm', 'migrate'))?.metadata.uid;
    expect(await site.release([pack('helm', job('shop:2'))])).toMatchObject([{ outcome: 'configured' }]);
    expect((await get('Job', 'helm', 'migrate'))?.metadata.uid).not.toBe(uid);
    expect((await get('ConfigMap', 'helm', 'kept'))?.metadata.annotations).toEqual({
      'helm.sh/resource-policy': 'keep',
    });
    expect(await get('ConfigMap', 'helm', 'goes')).toBeUndefined();
  });

  it("has no secret's value in messages, steps, events, reports and files of its state (S11)", async () => {
    await makeNamespace('s11');
    await using site = await createSite(target(), { password: 'tellnobody' });
    const secret = (data: string) =>
      `apiVersion: v1\nkind: Secret\nmetadata: {name: web, namespace: s11}\n${data}\n`;
    const input = { input: 'password', file: 'app.yaml', pointer: '/0/stringData/password' };
    const good = pack('s11', secret('stringData: {password: tellnobody}'));
    expect(await site.release([good])).toMatchObject([{ outcome: 'created' }]);
    const encoded = Buffer.from('tellnobody').toString('base64');
    expect((await get('Secret', 's11', 'web'))?.['data']).toEqual({ password: encoded });
    const changed = { stringData: { password: 'changed' } };
    await ask('PATCH', '/api/v1/namespaces/s11/secrets/web', changed);
    expect(await observe(site.agent)).toMatchObject([{ corrected: true }]);
    const bad = pack(
      's11',
      secret('stringData: {password: tellnobody}\ntype: kubernetes.io/dockerconfigjson'),
    );
    expect(await site.release([bad])).toMatchObject([{ outcome: 'failed', code: 'API_REFUSED' }]);
    // Secrets come from secret sets, and not from values of a site, which are no secret.
    const filled = pack('s11', secret('stringData: {password: x}'), { inputs: [input] });
    expect(await site.release([filled])).toMatchObject([{ outcome: 'failed', code: 'OUT_OF_BOUNDS' }]);
    const told = JSON.stringify([
      site.events(),
      site.agent.state.db.prepare('SELECT * FROM operation').all(),
      site.agent.state.db.prepare('SELECT * FROM result').all(),
      site.agent.state.db.prepare('SELECT * FROM owned').all(),
      site.agent.state.db.prepare('SELECT * FROM package').all(),
    ]);
    for (const value of ['tellnobody', encoded, 'Y2hhbmdlZA==']) expect(told).not.toContain(value);
  });

  it('applies a ConfigMap of 1 MB, and refuses one that is too large for the cluster (S12)', async () => {
    await using site = await createSite(target());
    const yaml = (bytes: number) =>
      `${namespace('s12')}${configMap('s12', 'big', `{text: ${'x'.repeat(bytes)}}`)}`;
    expect(await site.release([pack('s12', yaml(1_000_000))])).toMatchObject([{ outcome: 'created' }]);
    expect(await lookAtDrift(site.agent)).toMatchObject([{ drift: [] }]);
    const [refused] = await site.release([pack('s12', yaml(1_100_000))]);
    expect(refused).toMatchObject({ outcome: 'failed', code: 'API_REFUSED' });
    expect(refused?.message).toMatch(/ConfigMap s12\/big.*1048576/);
  });

  it('continues when the API server restarts, and creates nothing twice (S13)', async () => {
    await using site = await createSite(target());
    const many = Array.from({ length: 120 }, (_, i) => configMap('s13', `c-${i}`, `{n: "${i}"}`)).join('');
    let restarted: Promise<void> | undefined;
    Object.assign(site.agent, {
      onJournal: (point: string) => {
        if (point.includes('step 40 done'))
          restarted ??= cluster.killApiServer().then(() => cluster.startApiServer());
      },
    } satisfies Partial<Agent>);
    expect(await site.release([pack('s13', `${namespace('s13')}${many}`)])).toMatchObject([
      { outcome: 'created' },
    ]);
    expect(restarted).toBeDefined();
    await restarted;
    const { items } = await admin.list({ apiVersion: 'v1', kind: 'ConfigMap' }, { namespace: 's13' }, signal);
    expect(items.filter(({ metadata }) => metadata.name.startsWith('c-'))).toHaveLength(120);
    expect(site.events().filter(({ outcome }) => outcome === 'failed')).toEqual([]);
  });

  it('leaves an operation open while the API server is away, does not call another package in sync, and completes it later (D4)', async () => {
    await using line = await startLineTo(cluster);
    const impatient = await connect(500, line);
    await using site = await createSite(target({ open: async () => impatient }));
    await using quiet = await createSite(target({ open: async () => impatient }));
    await quiet.release([pack('d4', `${namespace('d4')}${configMap('d4', 'a', '{k: v}')}`)]);
    const many = Array.from({ length: 150 }, (_, i) => configMap('away', `c-${i}`, `{n: "${i}"}`)).join('');
    let isCut = false;
    Object.assign(site.agent, {
      onJournal: (point: string) => {
        if (isCut || !point.includes('step 20 done')) return;
        isCut = true;
        line.set('down');
      },
    } satisfies Partial<Agent>);
    await expect(site.release([pack('away', `${namespace('away')}${many}`)])).rejects.toMatchObject({
      code: 'API_UNREACHABLE',
    });
    expect(openOperation(site.agent.state)).toMatchObject({ assignment: 'away', phase: 'apply' });
    expect(await lookAtDrift(site.agent)).toMatchObject([{ drift: [{ key: 'package:away' }] }]);
    expect(await observe(quiet.agent)).toMatchObject([{ drift: [], error: { code: 'API_UNREACHABLE' } }]);
    line.set('whole');
    expect(await observe(quiet.agent)).toEqual([{ assignment: 'd4', drift: [] }]);
    await resume(site.agent);
    expect(findPackage(site.agent.state, 'away')).toMatchObject({ status: 'healthy' });
    expect(site.events().filter(({ outcome }) => outcome === 'failed')).toEqual([]);
    await impatient.close();
  });

  it('quotes the message of an admission policy, and rolls back only what was done', async () => {
    await kubectlApply(`apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-night-shift}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [configmaps]}]
  validations: [{expression: "!has(object.data) || !('night' in object.data)", message: the factory sleeps at night}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-night-shift}
spec: {policyName: no-night-shift, validationActions: [Deny]}
---
${namespace('vap')}`);
    await using site = await createSite(target());
    // A policy takes a moment until it is enforced.
    await expect
      .poll(
        async () => {
          const probe = { metadata: { name: 'probe' }, data: { night: '1' } };
          return (await cluster.request('POST', `${mapsOf('vap')}?dryRun=All`, probe)).status;
        },
        { timeout: 20_000 },
      )
      .toBe(422);
    const [result] = await site.release([pack('vap', configMap('vap', 'shift', '{night: "yes"}'))]);
    expect(result).toMatchObject({ outcome: 'failed', code: 'ADMISSION_DENIED' });
    expect(result?.message).toContain('the factory sleeps at night');
    expect(await get('ConfigMap', 'vap', 'shift')).toBeUndefined();
    await kubectl('delete', 'validatingadmissionpolicybinding', 'no-night-shift');
  });

  it('names verb, resource and account when a right is missing (P5)', async () => {
    const limited = openKubernetesApi(
      {
        server: cluster.server,
        credentials: async () => {
          const access = await openClusterAccess({ kubeconfig: cluster.kubeconfig, context: '' });
          const { tls, headers } = await access.credentials();
          return { tls, headers: { ...headers, 'Impersonate-User': 'robot' } };
        },
      },
      { patienceMs: 1000, requestMs: 10_000 },
    );
    await using site = await createSite(target({ open: async () => limited }));
    const [result] = await site.release([pack('denied', configMap('default', 'web', '{}'))]);
    expect(result).toMatchObject({ outcome: 'failed', code: 'API_DENIED' });
    expect(result?.message).toContain(
      "the agent's account robot lacks: get, list, watch, create, patch, delete configmaps in namespace default",
    );
    await limited.close();
  });

  it('deletes only objects with its annotation, and no namespace with foreign objects (I3, I5, I6)', async () => {
    await using site = await createSite(target());
    const all = `${namespace('i3')}${configMap('i3', 'ours', '{}')}${configMap('i3', 'given', '{}')}`;
    await site.release([pack('i3', all)]);
    await changeMap('i3', 'given', { metadata: { annotations: { 'fleet-ferry/assignment': null } } });
    await makeMap('i3', 'foreign');
    // Dropping only the namespace deletes nothing in it.
    await site.release([pack('i3', configMap('i3', 'ours', '{}'))]);
    expect(await get('ConfigMap', 'i3', 'given')).toBeDefined();
    expect(
      (await get('Namespace', '', 'i3'))?.metadata.annotations?.['fleet-ferry/assignment'],
    ).toBeUndefined();
    await site.release([pack('i3', all)]);
    await site.release([]);
    expect(await get('ConfigMap', 'i3', 'ours')).toBeUndefined();
    expect(await get('ConfigMap', 'i3', 'foreign')).toBeDefined();
    expect((await get('Namespace', '', 'i3'))?.metadata.deletionTimestamp).toBeUndefined();
  });

  it('leaves an object to the first of two packages, and never takes that of another fleet (A1, A2)', async () => {
    await using site = await createSite(target());
    const first = pack('a-first', `${namespace('a2')}${configMap('a2', 'shared', '{of: first}')}`);
    const second = pack('b-second', configMap('a2', 'shared', '{of: second}'));
    const [one, two] = await site.release([first, second]);
    expect(one).toMatchObject({ outcome: 'created' });
    expect(two).toMatchObject({ outcome: 'failed', code: 'PATH_CLAIMED' });
    expect(two?.message).toContain('ConfigMap a2/shared belongs to a-first');
    expect((await get('ConfigMap', 'a2', 'shared'))?.['data']).toEqual({ of: 'first' });

    await using other = await createSite(target({ fleet: 'another' }));
    const [foreign] = await other.release([second]);
    expect(foreign).toMatchObject({ code: 'PATH_CLAIMED' });
    expect(foreign?.message).toContain('a-first of fleet halden');
  });

  it('hands objects over from a removed package to the one that replaces it (I4)', async () => {
    await using site = await createSite(target());
    await makeNamespace('i4');
    await site.release([
      pack('old', configMap('i4', 'web', '{a: "1"}')),
      pack('steady', configMap('i4', 'x', '{}')),
    ]);
    const uid = (await get('ConfigMap', 'i4', 'web'))?.metadata.uid;
    const results = await site.release([
      pack('new', configMap('i4', 'web', '{a: "2"}')),
      pack('steady', configMap('i4', 'x', '{}')),
    ]);
    expect(results).toMatchObject([
      { assignment: 'new', outcome: 'created' },
      { assignment: 'old', outcome: 'deleted' },
    ]);
    const live = await get('ConfigMap', 'i4', 'web');
    expect(live?.metadata.uid).toBe(uid);
    expect(live?.metadata.annotations?.['fleet-ferry/assignment']).toBe('new');
  });

  it('hands an object over between two packages without recreating it (I4)', async () => {
    await using site = await createSite(target({ healthTimeoutMs: 1000 }));
    await makeNamespace('i4s');
    const moved = (data: string) => configMap('i4s', 'moved', data);
    const own = (name: string, data: string) => configMap('i4s', name, `{v: "${data}"}`);
    const never = deployment('i4s', 'web', 'replicas: 1', 'nodeSelector: {no: where}');
    const at = async () => {
      const live = await get('ConfigMap', 'i4s', 'moved');
      return [live?.metadata.uid, live?.metadata.annotations?.['fleet-ferry/assignment'], live?.['data']];
    };
    await site.release([pack('a', own('a', '1')), pack('b', `${own('b', '1')}${moved('{of: b}')}`)]);
    const [uid] = await at();
    // The package that takes it comes first by name, and does not come up.
    const giver = pack('b', own('b', '2'));
    const failed = await site.release([pack('a', `${own('a', '2')}${moved('{of: a}')}${never}`), giver]);
    expect(failed).toMatchObject([
      { assignment: 'b', outcome: 'configured' },
      { assignment: 'a', code: 'CHECK_FAILED', rolledBack: true },
    ]);
    expect(await lookAtDrift(site.agent)).toMatchObject([{ drift: [] }, { drift: [] }]);
    expect((await at())[0]).toBe(uid);
    const count = site.events().length;
    const taker = pack('a', `${own('a', '3')}${moved('{of: a, more: x}')}`);
    expect(await site.release([taker, giver])).toMatchObject([{ assignment: 'a', outcome: 'configured' }]);
    expect(await at()).toEqual([uid, 'a', { of: 'a', more: 'x' }]);
    // And back, in one release, while the other one is new to it.
    const back = pack('b', `${own('b', '3')}${moved('{of: b}')}`);
    expect(await site.release([pack('a', own('a', '4')), back])).toMatchObject([
      { assignment: 'a', outcome: 'configured' },
      { assignment: 'b', outcome: 'configured' },
    ]);
    expect(await at()).toEqual([uid, 'b', { of: 'b' }]);
    expect(
      site
        .events()
        .slice(count)
        .filter(({ outcome }) => outcome === 'failed'),
    ).toEqual([]);
    expect(readOwned(site.agent.state, 'a').map(({ key }) => key)).toEqual(['/ConfigMap/i4s/a']);
    expect(readOwned(site.agent.state, 'b').map(({ state }) => state['given'])).toEqual([
      undefined,
      undefined,
    ]);
    expect(await lookAtDrift(site.agent)).toMatchObject([{ drift: [] }, { drift: [] }]);
    await site.release([pack('a', own('a', '4'))]);
    expect((await at())[0]).toBeUndefined();
  });

  it('gives an object back to the removed package when its successor does not become healthy (I4)', async () => {
    await using site = await createSite(target({ healthTimeoutMs: 3000 }));
    await makeNamespace('back');
    await site.release([pack('old', configMap('back', 'data', '{a: "1"}'))]);
    const uid = (await get('ConfigMap', 'back', 'data'))?.metadata.uid;
    const broken = `${configMap('back', 'data', '{a: "2"}')}${deployment('back', 'web', 'replicas: 1', 'nodeSelector: {no: where}')}`;
    expect(await site.release([pack('new', broken)])).toMatchObject([
      { assignment: 'new', outcome: 'failed' },
      { assignment: 'old', outcome: 'skipped' },
    ]);
    expect(await get('Deployment', 'back', 'web')).toBeUndefined();
    expect((await get('ConfigMap', 'back', 'data'))?.metadata.uid).toBe(uid);
    expect(await observe(site.agent)).toMatchObject([{ assignment: 'old', corrected: true }]);
    const live = await get('ConfigMap', 'back', 'data');
    expect(live?.metadata.uid).toBe(uid);
    expect(live?.metadata.annotations?.['fleet-ferry/assignment']).toBe('old');
    expect(live?.['data']).toEqual({ a: '1' });
  });

  it('deletes nothing of before its state was lost when the next package does not become healthy', async () => {
    const app = (pod = '') => `${namespace('lost')}${deployment('lost', 'web', 'replicas: 1', pod)}`;
    await using first = await createSite(target());
    await first.release([pack('web', app())]);
    const uid = (await get('Deployment', 'lost', 'web'))?.metadata.uid;
    await using second = await createSite(target({ healthTimeoutMs: 3000 }));
    expect(await second.release([pack('web', app('nodeSelector: {no: where}'))])).toMatchObject([
      { outcome: 'failed', code: 'CHECK_FAILED' },
    ]);
    expect((await get('Deployment', 'lost', 'web'))?.metadata.uid).toBe(uid);
    expect(await second.release([pack('web', app())])).toMatchObject([{ outcome: 'created' }]);
    expect(await second.release([])).toMatchObject([{ outcome: 'deleted' }]);
    expect(await get('Deployment', 'lost', 'web')).toBeUndefined();
  });

  it('finds changed, removed and deleted fields, and ignores status and foreign fields (D1)', async () => {
    await using site = await createSite(target());
    const yaml = `${namespace('d1')}${deployment('d1', 'web', 'replicas: 1')}${configMap('d1', 'a', '{k: v}')}${configMap('d1', 'b', '{k: v}')}`;
    await site.release([pack('d1', yaml)]);
    await changeMap('d1', 'a', { metadata: { labels: { team: 'night' } } });
    await kubectl('rollout', 'restart', '-n', 'd1', 'deployment/web');
    expect(await lookAtDrift(site.agent)).toMatchObject([{ drift: [] }]);
    await kubectl('scale', '-n', 'd1', 'deployment/web', '--replicas=0');
    await changeMap('d1', 'a', { data: { k: null } });
    await removeMap('d1', 'b');
    const [{ drift } = { drift: [] }] = await lookAtDrift(site.agent);
    expect(drift.map(({ key, what }) => `${what} ${key}`)).toEqual([
      'content /ConfigMap/d1/a',
      'missing /ConfigMap/d1/b',
      'content apps/Deployment/d1/web',
    ]);
    expect(drift[2]?.message).toMatch(/spec\.replicas differs \(last written by kubectl/);
    expect(await observe(site.agent)).toMatchObject([{ corrected: true }]);
    expect(await lookAtDrift(site.agent)).toMatchObject([{ drift: [] }]);
    expect((await get('Deployment', 'd1', 'web'))?.['spec']).toMatchObject({ replicas: 1 });
    expect((await get('ConfigMap', 'd1', 'a'))?.metadata.labels).toEqual({ team: 'night' });
  });

  it('corrects a list whose keys were edited, and the other objects of the package (D1)', async () => {
    const yaml = (more = '') => `${namespace('d1k')}${configMap('d1k', 'web', '{a: "1"}')}
apiVersion: v1
kind: Service
metadata: {name: web, namespace: d1k}
spec: {selector: {app: web}, ports: [{name: http, port: 80${more}}]}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: d1k}
spec:
  replicas: 1
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers: [{name: app, image: app, env: [{name: LINE, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]}]
`;
    const patch = (what: string, operations: object) =>
      kubectl('patch', '-n', 'd1k', what, '--type=json', '-p', JSON.stringify(operations));
    await using site = await createSite(target());
    await site.release([pack('d1k', yaml())]);
    await patch('service/web', [{ op: 'replace', path: '/spec/ports/0/port', value: 81 }]);
    // A union of which a person set the other member is refused beside ours as well.
    await patch('deployment/web', [
      {
        op: 'replace',
        path: '/spec/template/spec/containers/0/env/0',
        value: { name: 'LINE', value: 'four' },
      },
    ]);
    await removeMap('d1k', 'web');
    const [{ drift } = { drift: [] }] = await lookAtDrift(site.agent);
    expect(drift.map(({ key, message }) => `${key} ${message}`)).toEqual([
      expect.stringContaining('/ConfigMap/d1k/web'),
      expect.stringMatching(/Service.*spec\.ports\[port=81,protocol=TCP\] of kubectl-patch/),
      expect.stringMatching(/Deployment.*env\[name=LINE\]\.value of kubectl-patch/),
    ]);
    const [{ corrected, failure } = {}] = await observe(site.agent);
    expect({ corrected, failure }).toEqual({ corrected: true, failure: undefined });
    expect(await lookAtDrift(site.agent)).toMatchObject([{ drift: [] }]);
    const ports = async () => (await get('Service', 'd1k', 'web'))?.['spec'] as { ports: object[] };
    expect((await ports()).ports).toMatchObject([{ name: 'http', port: 80 }]);
    expect((await ports()).ports).toHaveLength(1);
    // Nobody else owns what was corrected: it leaves with the package's own list, and the next release is as any other.
    await patch('service/web', [{ op: 'replace', path: '/spec/ports/0/port', value: 82 }]);
    expect(await site.release([pack('d1k', yaml(', targetPort: 8080'))])).toMatchObject([
      { outcome: 'configured' },
    ]);
    expect(await site.release([pack('d1k', yaml().replace('port: 80', 'port: 90'))])).toMatchObject([
      { outcome: 'configured' },
    ]);
    expect((await ports()).ports).toMatchObject([{ port: 90 }]);
    expect((await ports()).ports).toHaveLength(1);
  });

  it('corrects the other objects of a package when the server refuses one, and names it', async () => {
    const service = (name: string) => `apiVersion: v1
kind: Service
metadata: {name: ${name}, namespace: d1r}
spec: {type: NodePort, selector: {app: web}, ports: [{port: 80, nodePort: 30180}]}
---
`;
    const yaml = `${namespace('d1r')}${configMap('d1r', 'b', '{k: v}')}${service('web')}${deployment('d1r', 'web', 'replicas: 1')}`;
    await using site = await createSite(target());
    await site.release([pack('d1r', yaml)]);
    await ask('DELETE', '/api/v1/namespaces/d1r/services/web');
    await ask('DELETE', '/apis/apps/v1/namespaces/d1r/deployments/web');
    await removeMap('d1r', 'b');
    await kubectlApply(service('taker'));
    const [seen] = await observe(site.agent);
    expect(seen).toMatchObject({ corrected: false, failure: { code: 'API_REFUSED' } });
    expect(seen?.failure?.message).toMatch(/Service d1r\/web was not applied: .*30180/);
    expect(await get('ConfigMap', 'd1r', 'b')).toBeDefined();
    expect(await get('Deployment', 'd1r', 'web')).toBeDefined();
    // What newly differs is corrected at once; the refused object is tried again later, until the port is free.
    await observe(site.agent);
    await removeMap('d1r', 'b');
    await observe(site.agent);
    expect(await get('ConfigMap', 'd1r', 'b')).toBeDefined();
    await ask('DELETE', '/api/v1/namespaces/d1r/services/taker');
    const later = new Date(site.agent.edge.now().getTime() + 86_400_000);
    Object.assign(site.agent, { edge: { ...site.agent.edge, now: () => later } });
    expect(await observe(site.agent)).toMatchObject([{ corrected: true }]);
    expect(findPackage(site.agent.state, 'd1r')).toMatchObject({ status: 'healthy' });
  });

  it('applies a release although a finalizer holds a removed object, names both, and ends the removal later (X2)', async () => {
    await using site = await createSite(target({ stepTimeoutMs: 1000 }));
    const held = configMap('x2', 'held', '{}').replace('annotations: {}', 'finalizers: [test.example/hold]');
    const web = (text: string): string => `${namespace('x2')}${configMap('x2', 'web', text)}`;
    await site.release([pack('x2', `${web('{a: "1"}')}${held}`)]);
    const names = /ConfigMap x2\/held is being deleted since \S+: finalizers hold it: test\.example\/hold/;
    expect(await site.release([pack('x2', web('{a: "2"}'))])).toMatchObject([
      { outcome: 'configured', message: expect.stringMatching(names) as string },
    ]);
    expect((await get('ConfigMap', 'x2', 'web'))?.['data']).toEqual({ a: '2' });
    expect(site.events().at(-1)).toMatchObject({ type: 'package', outcome: 'configured' });
    expect(JSON.stringify(site.events().at(-1)?.detail)).toMatch(names);
    expect(readOwned(site.agent.state, 'x2').map(({ key }) => key)).toContain('/ConfigMap/x2/held');
    expect(findPackage(site.agent.state, 'x2')).toMatchObject({ status: 'healthy' });
    // Nothing is reported anew while it is held.
    const told = site.events().length;
    makeAllDue(site.agent.state, site.agent.edge.now());
    await observe(site.agent);
    expect(site.events()).toHaveLength(told);
    await changeMap('x2', 'held', { metadata: { finalizers: null } });
    makeAllDue(site.agent.state, site.agent.edge.now());
    await observe(site.agent);
    expect(site.events().slice(told)).toMatchObject([
      { type: 'corrected', message: 'the deletion is complete' },
    ]);
    expect(readOwned(site.agent.state, 'x2').map(({ key }) => key)).not.toContain('/ConfigMap/x2/held');
  });

  it('removes the other objects of a package while a finalizer holds one, and ends the removal later (X2)', async () => {
    await using site = await createSite(target({ stepTimeoutMs: 1000 }));
    const held = configMap('x4', 'held', '{}').replace('annotations: {}', 'finalizers: [test.example/hold]');
    await site.release([pack('x4', `${namespace('x4')}${held}${deployment('x4', 'web')}`)]);
    expect(await site.release([])).toMatchObject([
      {
        outcome: 'skipped',
        code: 'REMOVAL_WAITS',
        message: expect.stringMatching(/ConfigMap x4\/held .* test\.example\/hold/) as string,
      },
    ]);
    const told = site.events().length;
    expect(site.events().at(-1)).toMatchObject({ outcome: 'skipped', code: 'REMOVAL_WAITS' });
    // Before its pause is over it is only named again; what is gone is no drift.
    expect(await reconcile(site.agent)).toMatchObject([{ outcome: 'skipped', code: 'REMOVAL_WAITS' }]);
    expect(await observe(site.agent)).toEqual([]);
    expect(await get('Deployment', 'x4', 'web')).toBeUndefined();
    makeAllDue(site.agent.state, site.agent.edge.now());
    expect(await reconcile(site.agent)).toMatchObject([{ outcome: 'skipped' }]);
    expect(site.events()).toHaveLength(told);
    await changeMap('x4', 'held', { metadata: { finalizers: null } });
    makeAllDue(site.agent.state, site.agent.edge.now());
    await expect
      .poll(
        async () => {
          makeAllDue(site.agent.state, site.agent.edge.now());
          await reconcile(site.agent);
          return findPackage(site.agent.state, 'x4');
        },
        { timeout: 30_000 },
      )
      .toBeUndefined();
    expect(site.events().at(-1)).toMatchObject({ type: 'removed', assignment: 'x4', outcome: 'deleted' });
  });

  it('rolls back a package whose pods do not become ready, and removes its new objects', async () => {
    await using site = await createSite(target({ healthTimeoutMs: 3000 }));
    const good = `${namespace('rb')}${deployment('rb', 'web', 'replicas: 1')}`;
    await site.release([pack('rb', good)]);
    const bad = `${namespace('rb')}${deployment('rb', 'web', 'replicas: 1', 'nodeSelector: {no: where}')}${configMap('rb', 'new', '{}')}`;
    const [result] = await site.release([pack('rb', bad)]);
    expect(result).toMatchObject({
      outcome: 'failed',
      code: 'CHECK_FAILED',
      message: expect.stringContaining('rb/web') as string,
      rolledBack: true,
    });
    expect(await get('ConfigMap', 'rb', 'new')).toBeUndefined();
    expect(JSON.stringify((await get('Deployment', 'rb', 'web'))?.['spec'])).not.toContain('where');
    expect(await lookAtDrift(site.agent)).toMatchObject([{ drift: [] }]);
  });

  // Each of these waits for objects of its own, so they wait at the same time.
  it.concurrent('waits for a definition before its custom resources (P4)', async ({ expect }) => {
    await using site = await createSite(target());
    const crd = (more = '') => `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: robots.plant.example}
spec:
  group: plant.example
  scope: Cluster
  names: {kind: Robot, plural: robots, singular: robot}
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {arms: {type: integer}${more}}}}}}
`;
    const robot = (spec: string) =>
      `apiVersion: plant.example/v1\nkind: Robot\nmetadata: {name: r2, namespace: stamped}\nspec: ${spec}\n`;
    const release = (one: string, two: string) =>
      site.release([{ id: 'robots', files: { 'a-robot.yaml': two, 'crd.yaml': one } }]);
    expect(await release(crd(), robot('{arms: 2}'))).toMatchObject([{ outcome: 'created' }]);
    // A field that only the new definition knows.
    expect(await release(crd(', eyes: {type: integer}'), robot('{arms: 2, eyes: 3}'))).toMatchObject([
      { outcome: 'configured' },
    ]);
    const found = await admin.read({ apiVersion: 'plant.example/v1', kind: 'Robot', name: 'r2' }, signal);
    expect(found?.['spec']).toEqual({ arms: 2, eyes: 3 });
    expect(await site.release([])).toMatchObject([{ outcome: 'deleted' }]);
    admin.forgetTypes();
    expect(await admin.typeOf({ apiVersion: 'plant.example/v1', kind: 'Robot' }, signal)).toBeUndefined();
  });

  it.concurrent('removes objects of a package in reverse order, its namespace last (O5)', async ({
    expect,
  }) => {
    await using site = await createSite(target());
    const all = `${namespace('o5')}${configMap('o5', 'web', '{}')}${deployment('o5', 'web')}`;
    await site.release([pack('o5', `${all}${configMap('o5', 'gone', '{}')}`)]);
    await site.release([pack('o5', all)]);
    expect(await get('ConfigMap', 'o5', 'gone')).toBeUndefined();
    expect(await site.release([])).toMatchObject([{ outcome: 'deleted' }]);
    const detail = site.events().at(-1)?.detail as
      | { changes?: { key: string; outcome: string }[] }
      | undefined;
    const changes = detail?.changes ?? [];
    expect(changes.map(({ key, outcome }) => `${outcome} ${key}`)).toEqual([
      'deleted apps/Deployment/o5/web',
      'deleted /ConfigMap/o5/web',
      'deleted /Namespace//o5',
    ]);
    expect(await get('Namespace', '', 'o5')).toBeUndefined();
    expect(readOwned(site.agent.state, 'o5')).toEqual([]);
  });

  it.concurrent('waits until a namespace is deleted, and creates it again (X3)', async ({ expect }) => {
    const yaml = `${namespace('x3')}${configMap('x3', 'web', '{a: "1"}')}`;
    await makeNamespace('x3');
    await ask('POST', mapsOf('x3'), { metadata: { name: 'held', finalizers: ['test.example/hold'] } });
    await ask('DELETE', '/api/v1/namespaces/x3');
    await using site = await createSite(target());
    const released = site.release([pack('x3', yaml)]);
    await expect.poll(async () => openOperation(site.agent.state)?.phase).toBe('apply');
    await changeMap('x3', 'held', { metadata: { finalizers: null } });
    expect(await released).toMatchObject([{ outcome: 'created' }]);
    expect((await get('ConfigMap', 'x3', 'web'))?.['data']).toEqual({ a: '1' });
  });

  bundledAgentOnCluster(() => cluster);
  leaseOnCluster(() => cluster);
  killedOnCluster(() => cluster);
  secretsOnCluster(() => cluster);
  healthOnCluster(() => cluster);
  incidentsOnCluster(() => cluster);
  faultsOnCluster(() => cluster);
  stepsOnCluster(() => cluster);
  orderOnCluster(() => cluster);
  failureHooksOnCluster(() => cluster);
  deletedMeanwhileOnCluster(() => cluster);
  refusalsOnCluster(() => cluster);
  clusterInTrouble(() => cluster);
});
