import {
  apply,
  configMap,
  create,
  type Fields,
  jsonPatch,
  made,
  pathOf,
  type RefusalCase,
  wide,
} from './question.ts';

const POD = { containers: [{ name: 'a', image: 'a' }] };
const template = (spec: Fields = POD, labels: Fields = { app: 'a' }) => ({ metadata: { labels }, spec });
const selector = { matchLabels: { app: 'a' } };

const deployment = (name: string, more: Fields = {}) =>
  made('apps/v1', 'Deployment', name, { spec: { selector, template: template(), ...more } });

const service = (name: string, spec: Fields) =>
  made('v1', 'Service', name, { spec: { ports: [{ port: 80 }], ...spec } });

const definition = (plural: string, kind: string, versions: readonly Fields[], more: Fields = {}) =>
  wide('apiextensions.k8s.io/v1', 'CustomResourceDefinition', `${plural}.${plural}.example`, {
    spec: {
      group: `${plural}.example`,
      scope: 'Namespaced',
      names: { plural, singular: kind.toLowerCase(), kind },
      versions,
      ...more,
    },
  });

const FREE = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
const version = (name: string, storage: boolean, schema: Fields = FREE): Fields => ({
  name,
  served: true,
  storage,
  schema,
});
const rule = (text: string, message: string) => ({ 'x-kubernetes-validations': [{ rule: text, message }] });

const GAUGE = version('v1', true, {
  openAPIV3Schema: {
    type: 'object',
    properties: {
      spec: {
        type: 'object',
        ...rule('!has(oldSelf.name) || has(self.name)', 'the name stays'),
        properties: {
          size: { type: 'integer', ...rule('self >= oldSelf', 'a gauge only grows') },
          name: { type: 'string', ...rule('self == oldSelf', 'once named') },
          even: { type: 'integer', ...rule('self % 2 == 0', 'odd one') },
        },
      },
    },
  },
});

const gauge = (spec: Fields) => made('gauges.example/v1', 'Gauge', 'one', { spec });
const DIAL = version('v1', true, {
  openAPIV3Schema: {
    type: 'object',
    properties: {
      spec: {
        type: 'object',
        required: ['size'],
        properties: {
          size: { type: 'integer', maximum: 10 },
          mode: { type: 'string', enum: ['slow', 'fast'] },
          name: { type: 'string', maxLength: 8 },
          tags: { type: 'array', maxItems: 2, items: { type: 'string' } },
        },
      },
    },
  },
});
const dial = (name: string, spec: Fields | null) => made('dials.example/v1', 'Dial', name, { spec });
const CONVERSION = (clientConfig: Fields): Fields => ({
  conversion: { strategy: 'Webhook', webhook: { conversionReviewVersions: ['v1'], clientConfig } },
});

/** What definitions of kinds refuse, and webhooks that convert. @param hook `clientConfig` of a webhook that answers by its path */
export const definitionCases = (hook: (path: string) => Fields): readonly RefusalCase[] => {
  const both = [version('v1', true), version('v2', false)];
  const one = (plural: string, kind: string, v: string) =>
    made(`${plural}.example/${v}`, kind, 'one', { spec: { a: v } });
  // An object in the version that is stored needs no webhook.
  const converted = (plural: string, kind: string, clientConfig: Fields) => [
    apply(definition(plural, kind, both, CONVERSION(clientConfig))),
    apply(one(plural, kind, 'v1')),
  ];
  const tills = pathOf('tills.example/v2', 'Till', 'default');
  // By pages, as the agent lists: without them a server whose cache of the kind is empty answers 429.
  const page = `${tills}?limit=500`;
  return [
    {
      title: 'conversion away',
      given: converted('tills', 'Till', { url: 'https://127.0.0.1:9/' }),
      asked: apply(one('tills', 'Till', 'v2')),
    },
    { title: 'conversion away, get', asked: { method: 'GET', path: `${tills}/one` } },
    { title: 'conversion away, list', asked: { method: 'GET', path: page } },
    {
      title: 'conversion away, list of two',
      given: [apply(made('tills.example/v1', 'Till', 'two'))],
      asked: { method: 'GET', path: page },
    },
    { title: 'conversion away, delete', asked: { method: 'DELETE', path: `${tills}/one` } },
    {
      title: 'conversion fails',
      given: converted('belts', 'Belt', hook('/convert/fails')),
      asked: apply(one('belts', 'Belt', 'v2')),
    },
    {
      title: 'conversion returns none',
      given: converted('reels', 'Reel', hook('/convert/none')),
      asked: apply(one('reels', 'Reel', 'v2')),
    },
    {
      title: 'cel grows',
      given: [apply(definition('gauges', 'Gauge', [GAUGE])), apply(gauge({ size: 5, name: 'x' }))],
      asked: apply(gauge({ size: 4, name: 'x' })),
    },
    { title: 'cel immutable', asked: apply(gauge({ size: 5, name: 'y' })) },
    { title: 'cel presence', asked: apply(gauge({ size: 5 })) },
    { title: 'cel content', asked: apply(gauge({ size: 5, name: 'x', even: 3 })) },
    {
      title: 'json patch cel',
      asked: jsonPatch(pathOf('gauges.example/v1', 'Gauge', 'default', 'one'), {
        op: 'replace',
        path: '/spec/size',
        value: 1,
      }),
    },
    { title: 'crd schema type', asked: apply(gauge({ size: 'x' })) },
    { title: 'crd unknown field', asked: apply(gauge({ size: 5, name: 'x', foo: 1 })) },
    {
      title: 'crd required',
      given: [apply(definition('dials', 'Dial', [DIAL])), apply(dial('one', { size: 1 }))],
      asked: apply(dial('two', {})),
    },
    // Server-side apply stores a map as null whose last member leaves the manifest.
    { title: 'crd emptied', asked: apply(dial('one', {})) },
    { title: 'crd null', asked: apply(dial('two', null)) },
    { title: 'crd enum', asked: apply(dial('two', { size: 1, mode: 'loud' })) },
    { title: 'crd too long', asked: apply(dial('two', { size: 1, name: 'x'.repeat(9) })) },
    { title: 'crd too many', asked: apply(dial('two', { size: 1, tags: ['a', 'b', 'c'] })) },
    { title: 'crd too large number', asked: apply(dial('two', { size: 11 })) },
    { title: 'crd scope', asked: apply(definition('gauges', 'Gauge', [GAUGE], { scope: 'Cluster' })) },
    {
      title: 'crd stored versions',
      given: [
        apply(definition('lamps', 'Lamp', [version('v1', false), version('v2', true)])),
        apply(one('lamps', 'Lamp', 'v2')),
      ],
      asked: apply(definition('lamps', 'Lamp', [version('v1', true)])),
    },
    {
      title: 'too large custom',
      asked: apply(made('lamps.example/v2', 'Lamp', 'big', { spec: { a: 'x'.repeat(2_000_000) } })),
    },
  ];
};

const JOB = (image: string) =>
  made('batch/v1', 'Job', 'j', {
    spec: { template: { spec: { restartPolicy: 'Never', containers: [{ name: 'a', image }] } } },
  });
const STATEFUL = (storage: string) =>
  made('apps/v1', 'StatefulSet', 's', {
    spec: {
      serviceName: 's',
      replicas: 0,
      selector,
      template: template(),
      volumeClaimTemplates: [
        {
          metadata: { name: 'v' },
          spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage } } },
        },
      ],
    },
  });
const STORAGE_CLASS = (name: string, provisioner: string) =>
  wide('storage.k8s.io/v1', 'StorageClass', name, { provisioner, allowVolumeExpansion: true });
const VOLUME = (path: string) =>
  wide('v1', 'PersistentVolume', 'pv', {
    spec: {
      storageClassName: 'grow',
      capacity: { storage: '2Gi' },
      accessModes: ['ReadWriteOnce'],
      hostPath: { path },
      claimRef: { namespace: 'default', name: 'data' },
    },
  });
const CLAIM = (storageClassName: string, storage: string) =>
  made('v1', 'PersistentVolumeClaim', 'data', {
    spec: {
      accessModes: ['ReadWriteOnce'],
      volumeName: 'pv',
      storageClassName,
      resources: { requests: { storage } },
    },
  });
const BINDING = (name: string) =>
  made('rbac.authorization.k8s.io/v1', 'RoleBinding', 'rb', {
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name },
  });

/** What the kinds of Kubernetes itself refuse. */
export const contentCases = (): readonly RefusalCase[] => {
  const maps = pathOf('v1', 'ConfigMap', 'default');
  const secret = (text: string) => made('v1', 'Secret', 'im', { immutable: true, stringData: { a: text } });
  const priority = (value: number) => wide('scheduling.k8s.io/v1', 'PriorityClass', 'pc', { value });
  const pod = (seconds: number) =>
    made('v1', 'Pod', 'pp', { spec: { ...POD, terminationGracePeriodSeconds: seconds } });
  return [
    {
      title: 'deployment selector',
      given: [apply(deployment('d'))],
      asked: apply(
        deployment('d', { selector: { matchLabels: { app: 'b' } }, template: template(POD, { app: 'b' }) }),
      ),
    },
    { title: 'statefulset vct', given: [apply(STATEFUL('1Gi'))], asked: apply(STATEFUL('2Gi')) },
    { title: 'job template', given: [apply(JOB('a'))], asked: apply(JOB('b')) },
    {
      title: 'service clusterip',
      given: [apply(service('s1', {}))],
      asked: apply(service('s1', { clusterIP: 'None' })),
    },
    {
      title: 'nodeport taken',
      given: [apply(service('s2', { type: 'NodePort', ports: [{ port: 80, nodePort: 30100 }] }))],
      asked: apply(service('s3', { type: 'NodePort', ports: [{ port: 80, nodePort: 30100 }] })),
    },
    {
      title: 'nodeport range',
      asked: apply(service('s4', { type: 'NodePort', ports: [{ port: 80, nodePort: 99 }] })),
    },
    { title: 'port invalid', asked: apply(service('s5', { ports: [{ port: 99_999 }] })) },
    { title: 'secret immutable', given: [apply(secret('x'))], asked: apply(secret('y')) },
    {
      title: 'storageclass provisioner',
      given: [apply(STORAGE_CLASS('sc', 'a.example/a'))],
      asked: apply(STORAGE_CLASS('sc', 'b.example/b')),
    },
    { title: 'roleRef', given: [apply(BINDING('view'))], asked: apply(BINDING('edit')) },
    { title: 'priorityclass value', given: [apply(priority(1))], asked: apply(priority(2)) },
    {
      title: 'pod spec',
      given: [apply(pod(30))],
      until: { path: pathOf('v1', 'Pod', 'default', 'pp'), words: '"nodeName"' },
      asked: apply(pod(7)),
    },
    {
      title: 'pv source',
      given: [apply(STORAGE_CLASS('grow', 'a.example/a')), apply(VOLUME('/x'))],
      asked: apply(VOLUME('/y')),
    },
    {
      title: 'pvc class',
      given: [apply(CLAIM('grow', '2Gi'))],
      until: { path: pathOf('v1', 'PersistentVolumeClaim', 'default', 'data'), words: '"phase":"Bound"' },
      asked: apply(CLAIM('other', '2Gi')),
    },
    { title: 'pvc shrink', asked: apply(CLAIM('grow', '1Gi')) },
    { title: 'unknown field', asked: apply(deployment('d', { replica: 1 })) },
    { title: 'wrong type', asked: apply(configMap('t', { a: 1 })) },
    { title: 'bad base64', asked: apply(made('v1', 'Secret', 'b', { data: { a: '!' } })) },
    {
      title: 'bad label',
      asked: apply(made('v1', 'ConfigMap', 'l', { metadata: { labels: { a: 'b c' } } })),
    },
    { title: 'bad name', asked: apply(configMap('Bad_Name')) },
    {
      title: 'dup list key',
      asked: apply(
        deployment('d2', {
          template: template({
            containers: [
              {
                name: 'a',
                image: 'a',
                env: [
                  { name: 'A', value: '1' },
                  { name: 'A', value: '2' },
                ],
              },
            ],
          }),
        }),
      ),
    },
    { title: 'too large map', asked: apply(configMap('big', { a: 'x'.repeat((1 << 20) + 1) })) },
    { title: 'too large body', asked: apply(configMap('big', { a: 'x'.repeat(4 << 20) })) },
    { title: 'create twice', given: [apply(configMap('t2'))], asked: create(configMap('t2')) },
    {
      title: 'apply conflict',
      asked: {
        ...apply(configMap('t2', { a: 'c' }), { force: false }),
        path: `${maps}/t2?fieldManager=other&fieldValidation=Strict&force=false`,
      },
    },
    {
      title: 'delete other uid',
      asked: {
        method: 'DELETE',
        path: `${maps}/t2`,
        body: { preconditions: { uid: '00000000-0000-0000-0000-000000000000' } },
      },
    },
    {
      title: 'put old version',
      asked: {
        method: 'PUT',
        path: `${maps}/t2`,
        body: made('v1', 'ConfigMap', 't2', { metadata: { resourceVersion: '1' } }),
      },
    },
    {
      title: 'json patch test fails',
      asked: jsonPatch(`${maps}/t2`, { op: 'test', path: '/data/a', value: 'z' }),
    },
    {
      title: 'json patch path missing',
      asked: jsonPatch(`${maps}/t2`, { op: 'remove', path: '/data/none' }),
    },
    {
      title: 'json patch invalid result',
      asked: jsonPatch(pathOf('v1', 'Service', 'default', 's2'), {
        op: 'replace',
        path: '/spec/ports/0/port',
        value: 99_999,
      }),
    },
    {
      title: 'json patch wrong type',
      asked: jsonPatch(`${maps}/t2`, { op: 'replace', path: '/data', value: 3 }),
    },
  ];
};
