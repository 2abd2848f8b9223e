import * as fc from 'fast-check';
import { UNWATCHED } from './objects.ts';

/** Generated packages of objects for the property of worlds.test: all kinds of values that a server defaults, drops or normalises. */

type Fields = Record<string, unknown>;

export const WORLDS_SEED = Number(process.env['WORLDS_SEED'] ?? 20_261_128);

/** Two releases of one package, and the names of objects that another tool made before. */
export type World = {
  readonly first: readonly Fields[];
  readonly second: readonly Fields[];
  readonly foreign: readonly string[];
  readonly tool: 'helm' | 'kubectl-create' | 'argocd-controller';
};

const word = fc.stringMatching(/^[a-z][a-z0-9]{0,6}$/);
const text = fc.oneof(
  word,
  fc.constantFrom('', 'true', '0123', '1e3', 'null', ' x ', 'a\nb\n', '{{ }}', 'ä✓'),
);
const maybe = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(value, { nil: undefined });
const texts = fc.dictionary(word, text, { maxKeys: 3 });
const record = (fields: Record<string, fc.Arbitrary<unknown>>): fc.Arbitrary<Fields> =>
  fc
    .record(fields)
    .map((value) => Object.fromEntries(Object.entries(value).filter(([, item]) => item !== undefined)));

const quantity = fc.constantFrom<string | number>('1000m', '1', 1, '0.5', 0.25, '100m');
const memory = fc.constantFrom('1024Mi', '1Gi', '1073741824', '128974848', '129e6', '123Mi');
const probe = fc.oneof(
  record({
    httpGet: record({
      path: maybe(fc.constantFrom('/', '/x')),
      port: fc.constantFrom<string | number>(80, 'http'),
    }),
  }),
  fc.constant({ exec: { command: ['true'] } }),
  record({ tcpSocket: fc.constant({ port: 80 }), periodSeconds: maybe(fc.integer({ min: 1, max: 20 })) }),
);
const variable = fc.oneof(
  record({ value: maybe(text) }),
  fc.constant({ valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }),
  fc.constant({ valueFrom: { configMapKeyRef: { name: 'x', key: 'y', optional: true } } }),
);
const named = <T>(items: fc.Arbitrary<T>): fc.Arbitrary<readonly Fields[]> =>
  fc
    .dictionary(word, items as fc.Arbitrary<Fields>, { maxKeys: 3 })
    .map((all) => Object.entries(all).map(([name, item]) => ({ name, ...item })));
const ports = fc
  .uniqueArray(fc.tuple(fc.integer({ min: 1, max: 99 }), fc.constantFrom('TCP', 'UDP', undefined)), {
    maxLength: 3,
    selector: ([port]) => port,
  })
  .map((all) =>
    all.map(([containerPort, protocol]) => ({ containerPort, ...(protocol !== undefined && { protocol }) })),
  );
const container = record({
  name: fc.constant('a'),
  image: fc.constantFrom('a', 'b:1', 'c:latest'),
  args: maybe(fc.array(text, { maxLength: 2 })),
  env: maybe(named(variable)),
  ports: maybe(ports),
  resources: maybe(
    record({ limits: maybe(record({ cpu: quantity, memory })), requests: maybe(fc.constant({})) }),
  ),
  livenessProbe: maybe(probe),
  securityContext: maybe(
    fc.constantFrom({}, { privileged: false }, { runAsUser: 1000, capabilities: { drop: ['ALL'] } }),
  ),
  terminationMessagePolicy: maybe(fc.constant('FallbackToLogsOnError')),
});
const volume = fc.constantFrom<Fields>(
  {},
  { emptyDir: {} },
  { emptyDir: { sizeLimit: '1Gi' } },
  { configMap: { name: 'm' } },
  { secret: { secretName: 's', defaultMode: 256 } },
  { projected: { sources: [{ configMap: { name: 'm' } }] } },
);
const pod = record({
  containers: container.map((one) => [one]),
  volumes: maybe(named(volume)),
  nodeSelector: maybe(fc.constantFrom({}, { disk: 'ssd' })),
  tolerations: maybe(fc.constantFrom([], [{ operator: 'Exists' }])),
  securityContext: maybe(fc.constantFrom({}, { runAsNonRoot: true })),
  terminationGracePeriodSeconds: maybe(fc.integer({ min: 0, max: 60 })),
  dnsPolicy: maybe(fc.constant('Default')),
});
const template = (name: string): fc.Arbitrary<Fields> =>
  fc.tuple(pod, maybe(texts)).map(([spec, annotations]) => ({
    metadata: { labels: { app: name }, creationTimestamp: null, ...(annotations && { annotations }) },
    spec,
  }));

type Kind = (name: string) => fc.Arbitrary<Fields>;

const of =
  (apiVersion: string, kind: string, fields: (name: string) => fc.Arbitrary<Fields>): Kind =>
  (name) =>
    fc.tuple(fields(name), maybe(texts)).map(([more, labels]) => ({
      apiVersion,
      kind,
      metadata: {
        name,
        annotations: UNWATCHED,
        ...(labels && { labels: Object.fromEntries(Object.keys(labels).map((key) => [key, 'x'])) }),
      },
      ...more,
    }));
const withSpec = (spec: fc.Arbitrary<Fields>): fc.Arbitrary<Fields> => spec.map((value) => ({ spec: value }));
const workload = (kind: string, more: Record<string, fc.Arbitrary<unknown>>): Kind =>
  of('apps/v1', kind, (name) =>
    withSpec(
      record({ selector: fc.constant({ matchLabels: { app: name } }), template: template(name), ...more }),
    ),
  );

const number = fc.oneof(fc.integer(), fc.constantFrom(0.5, -1e-7, 1.5e300), fc.constant('LONG'));
const free: fc.Arbitrary<unknown> = fc.letrec<{ any: unknown }>((tie) => ({
  any: fc.oneof(
    { maxDepth: 3 },
    text,
    number,
    fc.boolean(),
    fc.constant(null),
    fc.constant({}),
    fc.constant([]),
    fc.array(tie('any'), { maxLength: 3 }),
    fc.dictionary(word, tie('any'), { maxKeys: 3 }),
  ),
})).any;

const rolling = fc.constantFrom(1, '30%');

const KINDS: readonly Kind[] = [
  of('v1', 'ConfigMap', () =>
    record({
      data: maybe(fc.oneof(texts, fc.constant(null))),
      binaryData: maybe(fc.constantFrom({}, { bin: 'AAEC' })),
    }),
  ),
  of('v1', 'Secret', () =>
    record({ data: maybe(fc.constantFrom({}, { one: 'eA==' })), stringData: maybe(texts) }),
  ),
  of('v1', 'ServiceAccount', () =>
    record({ automountServiceAccountToken: maybe(fc.boolean()), imagePullSecrets: maybe(fc.constant([])) }),
  ),
  of('v1', 'Service', () =>
    withSpec(
      fc
        .tuple(
          fc.constantFrom<Fields>(
            {},
            { type: 'NodePort' },
            { type: 'LoadBalancer', externalTrafficPolicy: 'Local' },
            { type: 'LoadBalancer', allocateLoadBalancerNodePorts: false },
            { sessionAffinity: 'ClientIP' },
          ),
          ports.filter((all) => all.length > 0),
          maybe(texts),
        )
        .map(([type, list, selector]) => ({
          ...type,
          ports: list.map(({ containerPort, ...rest }) => ({
            name: `p${containerPort}`,
            port: containerPort,
            ...rest,
          })),
          selector: selector && Object.fromEntries(Object.keys(selector).map((key) => [key, 'x'])),
        })),
    ),
  ),
  workload('Deployment', {
    replicas: maybe(fc.integer({ min: 0, max: 2 })),
    strategy: maybe(
      fc.oneof(
        fc.constantFrom({}, { type: 'Recreate' }, { type: 'RollingUpdate' }),
        rolling.map((maxSurge) => ({ type: 'RollingUpdate', rollingUpdate: { maxSurge } })),
      ),
    ),
    revisionHistoryLimit: maybe(fc.integer({ min: 0, max: 5 })),
    paused: maybe(fc.boolean()),
  }),
  workload('DaemonSet', {
    updateStrategy: maybe(
      fc.constantFrom<Fields>(
        {},
        { type: 'OnDelete' },
        { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 2 } },
      ),
    ),
  }),
  workload('StatefulSet', {
    serviceName: fc.constant('s'),
    replicas: maybe(fc.constant(0)),
    updateStrategy: maybe(
      fc.constantFrom<Fields>(
        { type: 'OnDelete' },
        { type: 'RollingUpdate', rollingUpdate: { partition: 1 } },
      ),
    ),
  }),
  of('networking.k8s.io/v1', 'NetworkPolicy', () =>
    withSpec(
      record({
        podSelector: fc.constantFrom({}, { matchLabels: { a: 'b' } }),
        policyTypes: maybe(fc.constantFrom(['Ingress'], ['Ingress', 'Egress'])),
        ingress: maybe(
          fc.constantFrom<unknown>(
            [],
            [{}],
            [{ from: [{ namespaceSelector: {} }] }],
            [{ from: [{ podSelector: {} }], ports: [{ port: 80 }] }],
          ),
        ),
      }),
    ),
  ),
  of('policy/v1', 'PodDisruptionBudget', () =>
    withSpec(
      fc
        .tuple(
          fc.constantFrom('minAvailable', 'maxUnavailable'),
          fc.constantFrom<string | number>(0, 1, '50%'),
        )
        .map(([key, value]) => ({ [key]: value, selector: { matchLabels: { a: 'b' } } })),
    ),
  ),
  of('rbac.authorization.k8s.io/v1', 'Role', () =>
    record({
      rules: fc.constantFrom<unknown>([], null, [{ apiGroups: [''], resources: ['pods'], verbs: ['get'] }]),
    }),
  ),
  of('batch/v1', 'CronJob', (name) =>
    withSpec(
      record({
        schedule: fc.constantFrom('0 0 1 1 *', '@yearly'),
        suspend: fc.constant(true),
        jobTemplate: template(name).map(({ spec }) => ({
          spec: { template: { spec: { ...(spec as Fields), restartPolicy: 'Never' } } },
        })),
      }),
    ),
  ),
  of('worlds.example/v1', 'World', () =>
    record({ spec: maybe(fc.dictionary(word, free, { maxKeys: 4 })), extra: free }),
  ),
  of('worlds.example/v1', 'Typed', () =>
    withSpec(
      record({
        size: maybe(fc.constantFrom<unknown>(1, 'LONG')),
        any: maybe(fc.constantFrom<string | number>(1, '1', '50%')),
        mode: maybe(fc.constantFrom('slow', 'fast')),
        none: maybe(fc.constantFrom<unknown>(null, 'x')),
        tags: maybe(fc.uniqueArray(word, { maxLength: 3 })),
        list: maybe(fc.array(text, { maxLength: 3 })),
        items: maybe(named(record({ value: maybe(text), port: maybe(fc.constantFrom(80)) }))),
        settings: maybe(texts),
      }),
    ),
  ),
];

const TYPED = {
  type: 'object',
  properties: {
    spec: {
      type: 'object',
      properties: {
        size: { type: 'integer', format: 'int64', default: 7 },
        any: { 'x-kubernetes-int-or-string': true },
        mode: { type: 'string', default: 'slow' },
        none: { type: 'string', nullable: true },
        tags: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' },
        list: { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'atomic' },
        items: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name', 'port'],
          items: {
            type: 'object',
            required: ['name'],
            properties: {
              name: { type: 'string' },
              port: { type: 'integer', default: 443 },
              value: { type: 'string' },
            },
          },
        },
        settings: { type: 'object', additionalProperties: { type: 'string' } },
      },
    },
  },
};

/** The kinds World, which takes any fields, and Typed, with defaults and lists of each type. */
export const WORLD_DEFINITIONS = [
  ['worlds', 'World', { type: 'object', 'x-kubernetes-preserve-unknown-fields': true }],
  ['typeds', 'Typed', TYPED],
].map(([plural, kind, openAPIV3Schema]) => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `${plural as string}.worlds.example` },
  spec: {
    group: 'worlds.example',
    scope: 'Namespaced',
    names: { plural, singular: (kind as string).toLowerCase(), kind },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }],
  },
}));

const pair = fc.nat({ max: KINDS.length - 1 }).chain((index) => {
  const made = (KINDS[index] as Kind)(`o${index}`);
  return fc.tuple(made, made, fc.constantFrom('stays', 'changes', 'leaves', 'comes'), fc.boolean());
});

export const world: fc.Arbitrary<World> = fc
  .record({
    pairs: fc.uniqueArray(pair, {
      minLength: 3,
      maxLength: 9,
      selector: ([{ kind }]) => kind as string,
    }),
    tool: fc.constantFrom<World['tool']>('helm', 'kubectl-create', 'argocd-controller'),
  })
  .map(({ pairs, tool }) => ({
    first: pairs.flatMap(([one, , fate]) => (fate === 'comes' ? [] : [one])),
    second: pairs.flatMap(([one, other, fate]) =>
      fate === 'leaves' ? [] : [fate === 'stays' ? one : other],
    ),
    foreign: pairs.flatMap(([{ metadata }, , , isForeign]) =>
      isForeign ? [(metadata as { name: string }).name] : [],
    ),
    tool,
  }))
  .filter(({ first, second }) => first.length > 0 && second.length > 0);
