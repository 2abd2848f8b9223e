import { expect, test } from 'vitest';
import { formatError } from '../../../../../bundles/errors.ts';
import { readKubernetesObjects } from '../../../../../scheduler/model/kubernetes/kubernetes-object.ts';
import { createObjectCheck } from '../../../../../scheduler/plan/validate/kubernetes/create-object-check.ts';
import { readCustomKinds } from '../../../../../scheduler/plan/validate/kubernetes/custom-kinds.ts';
import { unknownKinds } from '../../../../../scheduler/plan/validate/kubernetes/unknown-kinds.ts';

const judge = (text: string, requirement?: string, definitions = ''): readonly string[] => {
  const check = createObjectCheck(readCustomKinds([{ shown: 'crds.yaml', bytes: Buffer.from(definitions) }]));
  const objects = readKubernetesObjects('app.yaml', Buffer.from(text), []);
  const found = objects.flatMap((object) => check.judge(object, requirement));
  const advice = unknownKinds(objects.filter((object) => check.isUnknown(object, requirement)));
  return [...found.map(formatError), ...advice.map((one) => `advice: ${formatError(one)}`)];
};

const deployment = (container: string, more = ''): string => `apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
${more}  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
        - name: web
          image: web:1
${container}`;

test('a valid object has no problems', () => {
  expect(judge(deployment('          ports: [{containerPort: 80}]\n'))).toEqual([]);
});

test('an unknown field, a wrong type, an invalid value and a missing field are reported with position and path', () => {
  const text = deployment(
    `          imagePullPolcy: Always
          ports: [{containerPort: "80", protocol: HTTP}]
          env: [{value: x}]
`,
    '  replicas: two\n',
  );
  expect(judge(text)).toEqual([
    'app.yaml:6:13: OBJECT_INVALID: Deployment web: spec.replicas must be a whole number of 32 bits, not the text "two"',
    'app.yaml:13:11: OBJECT_INVALID: Deployment web: spec.template.spec.containers[0].imagePullPolcy is not a field of Container. Did you mean imagePullPolicy?',
    'app.yaml:14:35: OBJECT_INVALID: Deployment web: spec.template.spec.containers[0].ports[0].containerPort must be a whole number of 32 bits, not the text "80"',
    'app.yaml:14:51: OBJECT_INVALID: Deployment web: spec.template.spec.containers[0].ports[0].protocol must be SCTP, TCP, UDP, not the text "HTTP"',
    'app.yaml:15:17: OBJECT_INVALID: Deployment web: spec.template.spec.containers[0].env[0].name is missing',
  ]);
});

test.each([
  ['80', 'the number 80'],
  // In quotes, the number that the server reads would be another version or postcode.
  ['1.20', 'the number 1.20'],
  ['0123', 'the number 0123'],
  ['0x1F', 'the number 0x1F'],
  ['True', 'the boolean True'],
])('%s in a text field is reported with its quoted form, as its author wrote it', (written, shown) => {
  expect(judge(`apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {port: ${written}}\n`)).toEqual([
    `app.yaml:4:14: OBJECT_INVALID: ConfigMap a: data.port must be text, not ${shown}. Write it in quotes: "${written}".`,
  ]);
});

test('a key of a ConfigMap in both data and binaryData is reported', () => {
  const text =
    'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {logo: text}\nbinaryData:\n  logo: //4=\n';
  expect(judge(text)).toEqual([
    'app.yaml:6:3: OBJECT_INVALID: ConfigMap a: binaryData has the key logo, which data has, too. Give one of them another name. Kustomize leaves both where an overlay merges text over a binary file, or a binary file over text.',
  ]);
  expect(judge(text.replace('data: {logo: text}', 'data: {label: text}'))).toEqual([]);
  expect(judge(text.replace('kind: ConfigMap', 'kind: Secret').replace('binaryData', 'stringData'))).toEqual(
    [],
  );
});

test.each([
  ['ConfigMap', 'data', 'a/b'],
  ['ConfigMap', 'binaryData', '..a'],
  ['Secret', 'stringData', 'a b'],
  ['Secret', 'data', '.'],
  ['ConfigMap', 'data', 'a'.repeat(254)],
])('a key of a %s that Kubernetes refuses is reported: %s %s', (kind, field, key) => {
  const text = (name: string) =>
    `apiVersion: v1\nkind: ${kind}\nmetadata: {name: a}\n${field}: {${name}: aGk=}\n`;
  expect(judge(text(key))).toEqual([
    expect.stringContaining(
      `app.yaml:4:${field.length + 4}: OBJECT_INVALID: ${kind} a: ${field} has the key "${key}": a key has`,
    ),
  ]);
  expect(judge(text('.a_b-C.9'))).toEqual([]);
});

test('a selector that does not select the pods of its own template is reported', () => {
  expect(judge(deployment('').replace('labels: {app: web}', 'labels: {app: wed}'))).toEqual([
    'app.yaml:5:28: OBJECT_INVALID: Deployment web: spec.selector.matchLabels wants app=web, but the pods of spec.template have app=wed',
  ]);
});

test('a field that only some wanted versions have is reported; without a wanted version it passes', () => {
  const text = deployment('          restartPolicyRules: []\n');
  expect(judge(text)).toEqual([]);
  expect(judge(text, '>=1.34')).toEqual([]);
  expect(judge(text, '>=1.30 <1.35')).toEqual([
    'app.yaml:12:11: OBJECT_INVALID: Deployment web: spec.template.spec.containers[0].restartPolicyRules is a field only since Kubernetes 1.34',
  ]);
  expect(judge(text, '<1.20')).toEqual([]);
  expect(() => judge(text, 'newest')).toThrow('"newest" is not a range of Kubernetes versions');
});

test('reports a removed API, one that is not available yet, and an unknown kind', () => {
  const object = (apiVersion: string, kind: string) =>
    `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: {name: a}\n`;
  expect(judge(object('policy/v1beta1', 'PodDisruptionBudget'))).toEqual([
    'app.yaml:1:13: OBJECT_INVALID: PodDisruptionBudget a: policy/v1beta1 PodDisruptionBudget was removed in Kubernetes 1.25. Write policy/v1.',
  ]);
  expect(judge(object('flowcontrol.apiserver.k8s.io/v1beta3', 'FlowSchema'), '1.33')[0]).toMatch(
    /is there only until 1.31. There is also flowcontrol.apiserver.k8s.io\/v1;/,
  );
  expect(judge(object('admissionregistration.k8s.io/v1', 'MutatingAdmissionPolicy'), '1.35')[0]).toMatch(
    /is there only since Kubernetes 1.36/,
  );
  expect(judge(object('apps/v1', 'Deploment'))).toEqual([
    'app.yaml:2:7: OBJECT_INVALID: Deploment a: Kubernetes has no apps/v1 Deploment. Did you mean Deployment?',
  ]);
  expect(judge(object('v1', 'Deployment'))[0]).toMatch(
    /Kubernetes has no v1 Deployment. Deployment is of apps\/v1/,
  );
});

const PRESS = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: presses.plant.example}
spec:
  group: plant.example
  names: {kind: Press, plural: presses}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              required: [force]
              properties:
                force: {type: integer, maximum: 10}
                name: {type: string, pattern: '^(a+)+$'}
`;

test('a custom kind is validated by its definition; without one it is one advice', () => {
  const press = (spec: string, version = 'v1') =>
    `apiVersion: plant.example/${version}\nkind: Press\nmetadata: {name: one}\nspec: ${spec}\n`;
  expect(judge(press('{force: 3, name: aa}'), undefined, PRESS)).toEqual([]);
  expect(judge(press('{forze: 3}'), undefined, PRESS)).toEqual([
    'app.yaml:4:8: OBJECT_INVALID: Press one: spec.forze is not a field of Press. Did you mean force?',
    'app.yaml:4:7: OBJECT_INVALID: Press one: spec.force is missing',
  ]);
  expect(judge(press('{force: 30}'), undefined, PRESS)).toEqual([
    'app.yaml:4:15: OBJECT_INVALID: Press one: spec.force must be at most 10, not the number 30',
  ]);
  expect(judge(press('{force: 1}', 'v2'), undefined, PRESS)[0]).toMatch(
    /Press has no version plant.example\/v2. Its CustomResourceDefinition has plant.example\/v1/,
  );
  expect(judge(`${press('{}')}---\n${press('{}')}`)).toEqual([
    'advice: app.yaml:1:1: UNKNOWN_KIND: Press: nothing is known of plant.example/v1 Press, so its fields are not checked. Put its CustomResourceDefinition into the folder crds/ of the platform.',
  ]);
});

const LINES =
  '{type: array, items: {type: object, properties: {name: {type: string}, speed: {type: integer}}}';
const MODES =
  '{type: object, properties: {mode: {type: string, default: fast}, note: {type: string, nullable: true}}';

test.each([
  [
    'items in oneOf',
    `${LINES}, oneOf: [{items: {required: [name]}}, {items: {required: [speed]}}]}`,
    '[{name: a}]',
    '[{name: a, speed: 1}]',
  ],
  [
    'items in oneOf, of an empty list',
    `${LINES}, oneOf: [{items: {required: [name]}}, {minItems: 2}]}`,
    '[]',
    '[{}]',
  ],
  [
    'items in anyOf',
    `${LINES}, anyOf: [{items: {properties: {speed: {minimum: 3}}}}]}`,
    '[{speed: 3}, {}]',
    '[{speed: 3}, {speed: 2}]',
  ],
  ['items in not', `${LINES}, not: {items: {required: [speed]}}}`, '[{}]', '[{speed: 1}]'],
  [
    'additionalProperties in anyOf',
    '{type: object, additionalProperties: {type: integer}, anyOf: [{additionalProperties: {minimum: 3}}]}',
    '{a: 3}',
    '{a: 3, b: 2}',
  ],
  [
    'fields of what is not a mapping',
    '{x-kubernetes-preserve-unknown-fields: true, anyOf: [{required: [a]}]}',
    '7',
    '{b: 1}',
  ],
  [
    'a field that has a default',
    `${MODES}, oneOf: [{required: [mode]}, {required: [note]}]}`,
    '{}',
    '{note: a}',
  ],
  ['the value of a default', `${MODES}, not: {properties: {mode: {enum: [fast]}}}}`, '{mode: slow}', '{}'],
  ['a null that may be', `${MODES}, anyOf: [{required: [note]}]}`, '{note: null}', '{}'],
  ['a multiple in allOf', '{type: integer, allOf: [{multipleOf: 4}]}', '8', '6'],
  ['a multiple of a fraction', '{type: number, multipleOf: 0.1}', '0.3', '0.35'],
  ['a multiple of a hundredth', '{type: number, multipleOf: 0.01}', '1.13', '1.135'],
  ['a multiple above 2^53', '{type: integer, multipleOf: 3}', '9007199254740993', '9007199254740994'],
])('the schema of a custom kind validates %s', (_, schema, right, wrong) => {
  const definition = PRESS.replace("name: {type: string, pattern: '^(a+)+$'}", `name: ${schema}`);
  const press = (value: string): string =>
    `apiVersion: plant.example/v1\nkind: Press\nmetadata: {name: one}\nspec: {force: 3, name: ${value}}\n`;
  expect(judge(press(right), undefined, definition)).toEqual([]);
  expect(judge(press(wrong), undefined, definition)).toHaveLength(1);
});

test('a pattern made for backtracking takes linear time', () => {
  const text = `apiVersion: plant.example/v1\nkind: Press\nmetadata: {name: one}\nspec: {force: 1, name: ${'a'.repeat(5000)}!}\n`;
  const start = performance.now();
  expect(judge(text, undefined, PRESS)[0]).toMatch(/spec.name must match/);
  expect(performance.now() - start).toBeLessThan(2000);
});

test('an object with aliases that expand beyond the limit is refused', () => {
  const lines = Array.from(
    { length: 9 },
    (_, at) => `    l${at + 1}: &l${at + 1} [${Array(10).fill(`*l${at}`).join(', ')}]`,
  );
  const text = `apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  tolerations: &l0 [{}]\n  x:\n${lines.join('\n')}\n  containers: *l9\n`;
  expect(judge(text)[0]).toMatch(/too many values|must be a mapping|is not a field/);
});

test('items that server-side apply cannot distinguish are reported at the second one', () => {
  const text = deployment(`          env: [{name: A, value: x}, {name: B}, {name: A, value: y}]
          ports: [{containerPort: 53, protocol: UDP}, {containerPort: 53}, {containerPort: 53, protocol: TCP}]
          volumeMounts: [{name: a, mountPath: /a}, {name: b, mountPath: /a}]
        - {name: web, image: "web:2"}
`).replace('metadata: {name: web}', 'metadata: {name: web, finalizers: [a.example/b, a.example/b]}');
  expect(judge(text)).toEqual([
    'app.yaml:3:49: OBJECT_INVALID: Deployment web: metadata.finalizers[1] is the same as item 0, and the API server tells the items apart by their value',
    'app.yaml:12:56: OBJECT_INVALID: Deployment web: spec.template.spec.containers[0].env[2] has the name A of item 0, and the API server tells the items apart by name',
    'app.yaml:13:92: OBJECT_INVALID: Deployment web: spec.template.spec.containers[0].ports[2] has the containerPort 53 and protocol TCP of item 1, and the API server tells the items apart by containerPort and protocol',
    'app.yaml:14:73: OBJECT_INVALID: Deployment web: spec.template.spec.containers[0].volumeMounts[1] has the mountPath /a of item 0, and the API server tells the items apart by mountPath',
    'app.yaml:15:18: OBJECT_INVALID: Deployment web: spec.template.spec.containers[1] has the name web of item 0, and the API server tells the items apart by name',
  ]);
});

test('items of a custom kind are distinguished by the list map keys of its definition', () => {
  const definition = `apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: lines.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Line, plural: lines}
  versions:
    - name: v1
      served: true
      storage: true
      schema:
        openAPIV3Schema:
          type: object
          properties:
            spec:
              type: object
              properties:
                tags: {type: array, x-kubernetes-list-type: set, items: {type: string}}
                free: {type: array, items: {type: string}}
                ports:
                  type: array
                  x-kubernetes-list-type: map
                  x-kubernetes-list-map-keys: [port, protocol]
                  items:
                    type: object
                    required: [port]
                    properties: {port: {type: integer}, protocol: {type: string, default: TCP}}
`;
  const line = `apiVersion: example.com/v1
kind: Line
metadata: {name: a}
spec:
  tags: [a, b, a]
  free: [a, a]
  ports: [{port: 1}, {port: 1, protocol: UDP}, {port: 1, protocol: TCP}]
`;
  expect(judge(line, undefined, definition)).toEqual([
    'app.yaml:5:16: OBJECT_INVALID: Line a: spec.tags[2] is the same as item 0, and the API server tells the items apart by their value',
    'app.yaml:7:55: OBJECT_INVALID: Line a: spec.ports[2] has the port 1 and protocol TCP of item 0, and the API server tells the items apart by port and protocol',
  ]);
});
