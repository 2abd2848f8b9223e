import { apply, configMap, create, type Fields, inside, made, type RefusalCase, wide } from './question.ts';

/** Words that mean something else where the server says them. */
const WORDS = 'exceeded quota: User cannot; field is immutable';

const ADMISSION = 'admissionregistration.k8s.io/v1';
const named = (name: string) => [{ name: 'ours', expression: `request.name.startsWith('${name}')` }];
const MAPS = {
  apiGroups: [''],
  apiVersions: ['v1'],
  operations: ['CREATE', 'UPDATE'],
  resources: ['configmaps'],
};

type Policy = {
  readonly expression?: string;
  readonly more?: Fields;
  readonly binding?: Fields;
  readonly spec?: Fields;
};

const policyCase = (
  title: string,
  name: string,
  { expression = 'false', more, binding, spec }: Policy,
): RefusalCase => ({
  title,
  given: [
    create(
      wide(ADMISSION, 'ValidatingAdmissionPolicy', name, {
        spec: {
          matchConstraints: { resourceRules: [MAPS] },
          matchConditions: named(`pol${name}-`),
          validations: [{ expression, ...(expression === 'false' && { message: WORDS }), ...more }],
          ...spec,
        },
      }),
    ),
    create(
      wide(ADMISSION, 'ValidatingAdmissionPolicyBinding', name, {
        spec: { policyName: name, validationActions: ['Deny'], ...binding },
      }),
    ),
  ],
  asked: apply(configMap(`pol${name}-a`)),
  later: true,
});

type Hook = { readonly name: string; readonly clientConfig: Fields; readonly timeoutSeconds?: number };

const hookCase = (
  title: string,
  { name, clientConfig, timeoutSeconds = 5 }: Hook,
  kind = 'ValidatingWebhookConfiguration',
): RefusalCase => ({
  title,
  given: [
    create(
      wide(ADMISSION, kind, name, {
        webhooks: [
          {
            name: `${name}.example.org`,
            clientConfig,
            rules: [MAPS],
            matchConditions: named(`${name}-`),
            failurePolicy: 'Fail',
            sideEffects: 'None',
            timeoutSeconds,
            admissionReviewVersions: ['v1'],
          },
        ],
      }),
    ),
  ],
  asked: apply(configMap(`${name}-a`)),
  later: true,
});

/**
 * What policies and webhooks deny, and webhooks that do not answer.
 * @param hook `clientConfig` of a webhook that answers by its path
 */
export const hookCases = (hook: (path: string) => Fields): readonly RefusalCase[] => [
  policyCase('policy ', 'p', {}),
  ...['Forbidden', 'RequestEntityTooLarge', 'Invalid'].map((reason) =>
    policyCase(`policy ${reason.toLowerCase()}`, `p${reason.toLowerCase()}`, { more: { reason } }),
  ),
  policyCase('policy err', 'err', { expression: 'object.data.missing == "x"' }),
  policyCase('policy without parameters', 'bare', {
    expression: 'params.data.a == "x"',
    // It denies what its conditions leave out, too.
    spec: {
      paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
      matchConstraints: { resourceRules: [{ ...MAPS, resourceNames: ['polbare-a'] }] },
    },
    binding: {
      paramRef: { name: 'nothere', namespace: 'default', parameterNotFoundAction: 'Deny' },
    },
  }),
  ...['none', '400', '401', '403', '404', '409', '413', '422', '429', '500', '503'].map((code) =>
    hookCase(`webhook denies ${code}`, { name: `hooked${code}`, clientConfig: hook(`/deny/${code}`) }),
  ),
  hookCase('webhook denies with reason Forbidden', { name: 'reasoned', clientConfig: hook('/deny/reason') }),
  hookCase(
    'webhook denies as it changes',
    { name: 'changing', clientConfig: hook('/deny/422') },
    'MutatingWebhookConfiguration',
  ),
  hookCase('webhook garbage', { name: 'garbage', clientConfig: hook('/garbage') }),
  hookCase(
    'webhook patches badly',
    { name: 'patching', clientConfig: hook('/patch') },
    'MutatingWebhookConfiguration',
  ),
  hookCase('webhook fails itself', { name: 'failing', clientConfig: hook('/status/500') }),
  hookCase('webhook is slow', { name: 'slow', clientConfig: hook('/never'), timeoutSeconds: 1 }),
  hookCase('webhook away', {
    name: 'away',
    clientConfig: { url: 'https://127.0.0.1:9/' },
    timeoutSeconds: 2,
  }),
  hookCase('webhook bad tls', {
    name: 'badtls',
    clientConfig: { ...hook('/deny/403'), caBundle: undefined },
    timeoutSeconds: 2,
  }),
  hookCase('webhook no service', {
    name: 'nosvc',
    clientConfig: { service: { namespace: 'default', name: 'nothere' } },
    timeoutSeconds: 2,
  }),
];

const pod = (namespace: string, name: string, spec: Fields = {}, container: Fields = {}) =>
  inside(namespace, 'v1', 'Pod', name, {
    spec: { containers: [{ name: 'a', image: 'a', ...container }], ...spec },
  });
const namespace = (name: string, metadata: Fields = {}) =>
  create(wide('v1', 'Namespace', name, { metadata }));

/** What rights, quotas, limits and namespaces refuse, and kinds that nobody serves. */
export const surroundingCases = (): readonly RefusalCase[] => [
  { title: 'missing right', asked: apply(configMap('a'), { as: 'robot' }) },
  {
    title: 'quota count',
    given: [
      namespace('quoted'),
      // So that it is counted at once.
      { method: 'GET', path: '/api/v1/namespaces/quoted/configmaps/kube-root-ca.crt' },
      create(
        inside('quoted', 'v1', 'ResourceQuota', 'few', {
          spec: { hard: { configmaps: '0', 'limits.cpu': '1' } },
        }),
      ),
    ],
    until: {
      path: '/api/v1/namespaces/quoted/resourcequotas/few',
      words: '"used":{"configmaps":"1","limits.cpu":"0"}',
    },
    asked: apply(inside('quoted', 'v1', 'ConfigMap', 'a')),
    later: true,
  },
  { title: 'quota must specify', asked: apply(pod('quoted', 'p')), later: true },
  {
    title: 'limitrange',
    given: [
      namespace('limited'),
      create(
        inside('limited', 'v1', 'LimitRange', 'most', {
          spec: { limits: [{ type: 'Container', max: { cpu: '100m' } }] },
        }),
      ),
    ],
    until: { path: '/api/v1/namespaces/limited/serviceaccounts/default', words: '"name":"default"' },
    asked: apply(pod('limited', 'p', {}, { resources: { limits: { cpu: '2' } } })),
    later: true,
  },
  {
    title: 'podsecurity',
    given: [namespace('strict', { labels: { 'pod-security.kubernetes.io/enforce': 'restricted' } })],
    until: { path: '/api/v1/namespaces/strict/serviceaccounts/default', words: '"name":"default"' },
    asked: apply(pod('strict', 'p')),
    later: true,
  },
  { title: 'no serviceaccount', asked: apply(pod('default', 'p2', { serviceAccountName: 'nobody' })) },
  { title: 'no priorityclass', asked: apply(pod('default', 'p3', { priorityClassName: 'nope' })) },
  { title: 'no namespace', asked: apply(inside('nowhere', 'v1', 'ConfigMap', 'a')) },
  { title: 'no kind', asked: apply(made('nothing.example/v1', 'Thing', 'a')) },
  { title: 'no resource in group', asked: apply(made('apps/v1', 'Thing', 'a')) },
  {
    title: 'namespace terminating',
    given: [
      namespace('going'),
      create(
        inside('going', 'v1', 'ConfigMap', 'stays', { metadata: { finalizers: ['example.org/stays'] } }),
      ),
      { method: 'DELETE', path: '/api/v1/namespaces/going' },
    ],
    asked: apply(inside('going', 'v1', 'ConfigMap', 'a')),
    later: true,
  },
  {
    title: 'apiservice away',
    given: [
      create(
        wide('apiregistration.k8s.io/v1', 'APIService', 'v1.away.example.org', {
          spec: {
            group: 'away.example.org',
            version: 'v1',
            service: { namespace: 'default', name: 'nowhere' },
            insecureSkipTLSVerify: true,
            groupPriorityMinimum: 100,
            versionPriority: 10,
          },
        }),
      ),
    ],
    until: {
      path: '/apis/apiregistration.k8s.io/v1/apiservices/v1.away.example.org',
      words: '"ServiceNotFound"',
    },
    asked: { method: 'GET', path: '/apis/away.example.org/v1/namespaces/default/scales/a' },
  },
];
