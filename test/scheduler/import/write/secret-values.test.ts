import { expect, test } from 'vitest';
import { withoutSecrets, withoutSecretValues } from '../../../../scheduler/import/write/secret-values.ts';

const holdsSecret = (text: string): boolean => {
  const bytes = Buffer.from(text);
  return withoutSecrets(bytes, 'any').bytes !== bytes;
};

test('values under a key that names a secret are left out, names of secrets are not', () => {
  const values = {
    adminPassword: 'a',
    'api-token': 'b',
    auth: [{ secret: 'c', secretName: 'kept', passwordSecretRef: 'kept' }],
    token: '',
    tokenCount: 'kept',
    password: { key: 'kept' },
  };
  const { values: made, paths } = withoutSecretValues(values);
  expect(paths).toEqual(['adminPassword', 'api-token', 'auth[0].secret']);
  expect(JSON.stringify(made)).not.toMatch(/"[abc]"/);
  expect(made).toMatchObject({
    auth: [{ secretName: 'kept', passwordSecretRef: 'kept' }],
    tokenCount: 'kept',
  });
});

test('a Secret in clear gets the names of its keys in a sealed set, other documents of the file stay', () => {
  const text = `kind: ConfigMap
apiVersion: v1
metadata: {name: a}
---
apiVersion: v1
kind: Secret
metadata:
  name: db # the database
data:
  user: dXNlcg==
stringData:
  password: correct-horse
`;
  expect(holdsSecret(text)).toBe(true);
  const { bytes, leftOut } = withoutSecrets(Buffer.from(text), 'shop');
  expect(leftOut).toEqual([{ subject: 'Secret db', line: 5, keys: ['user', 'password'] }]);
  expect(bytes.toString()).not.toMatch(/dXNlcg|correct-horse/);
  expect(bytes.toString()).toContain('fleet-ferry/secret-set: shop');
  expect(bytes.toString()).toContain('fleet-ferry/secret-keys: user=db.user,password=db.password');
  expect(bytes.toString()).toContain('kind: ConfigMap');
});

test('an encrypted Secret, and one without values, are copied unchanged', () => {
  const sops = 'apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {a: "ENC[...]"}\nsops: {mac: x}\n';
  expect(holdsSecret(sops)).toBe(false);
  expect(holdsSecret('apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n')).toBe(false);
});

test('a generator of a Secret keeps its name without its values and files', () => {
  const text =
    'secretGenerator:\n  - name: db\n    literals: [password=correct-horse]\n    files: [key.pem, c=ca.pem]\n';
  const { bytes, unused } = withoutSecrets(Buffer.from(text), 'shop');
  expect(unused).toEqual(['key.pem', 'ca.pem']);
  expect(bytes.toString()).not.toContain('correct-horse');
  expect(bytes.toString()).toContain('password=db.password,key.pem=db.key.pem,c=db.c');
});

test('Secrets of a list, of patches in a kustomization, and env files are left out as well', () => {
  const list = `apiVersion: v1
kind: List
items:
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}
  - apiVersion: v1
    kind: Secret
    metadata: {name: db}
    stringData: {password: correct-horse}
`;
  expect(holdsSecret(list)).toBe(true);
  const listed = withoutSecrets(Buffer.from(list), 'shop');
  expect(listed.bytes.toString()).not.toContain('correct-horse');
  expect(listed.bytes.toString()).toContain('fleet-ferry/secret-keys: password=db.password');
  expect(listed.leftOut).toEqual([{ subject: 'Secret db', line: 5, keys: ['password'] }]);

  const patches = `resources: [base]
patches:
  - patch: |
      apiVersion: v1
      kind: Secret
      metadata: {name: db}
      stringData: {password: correct-horse}
patchesStrategicMerge:
  - |-
    {apiVersion: v1, kind: Secret, metadata: {name: other}, data: {key: Y29ycmVjdC1ob3JzZQ==}}
secretGenerator:
  - {name: from-file, env: secret.env}
`;
  const { bytes, leftOut, unused } = withoutSecrets(Buffer.from(patches), 'shop');
  expect(bytes.toString()).not.toMatch(/correct-horse|Y29ycmVjdC1ob3JzZQ/);
  expect(leftOut.map(({ subject }) => subject)).toEqual(['Secret from-file', 'Secret db', 'Secret other']);
  expect(unused).toEqual(['secret.env']);
});

test('operations of a JSON patch on values of a Secret are left out, others stay', () => {
  const text = `patches:
  - target: {kind: Secret, name: db}
    patch: |
      - {op: add, path: /stringData/pass~1word, value: correct-horse}
      - {op: add, path: /metadata/labels, value: {a: b}}
  - target: {kind: Sec.*}
    patch: '[{"op": "replace", "path": "/data", "value": {"token": "Y29ycmVjdC1ob3JzZQ=="}}]'
  - target: {kind: Secret, name: db}
    patch: "{apiVersion: v1, kind: Any, metadata: {name: any}, data: {key: Y29ycmVjdC1ob3JzZQ==}}"
  - target: {kind: ConfigMap}
    patch: '[{"op": "add", "path": "/data/motto", "value": "kept"}]'
  - target: {kind: HelmRelease}
    patch: '[{"op": "add", "path": "/spec/values/password", "value": "correct-horse"}]'
patchesJson6902:
  - target: {version: v1, kind: Secret, name: other}
    patch: '[{"op": "remove", "path": "/data/user"}]'
secretGenerator:
  - {name: db, literals: [user=correct-horse]}
`;
  const { bytes, leftOut } = withoutSecrets(Buffer.from(text), 'shop');
  const made = bytes.toString();
  expect(made).not.toMatch(/correct-horse|Y29ycmVjdC1ob3JzZQ|Sec\.\*|\/data\/user/);
  expect(made).toContain('/metadata/labels');
  expect(made).toContain('kept');
  expect(made).toContain(
    'fleet-ferry/secret-keys: "user=db.user,pass/word=db.pass/word,token=db.token,key=db.key"',
  );
  expect(leftOut.map(({ subject, line, keys }) => `${line} ${subject} ${keys.join()}`)).toEqual([
    '18 Secret db user',
    '3 Secret db pass/word',
    '7 Secret of any name token',
    '9 Secret db key',
    '13 HelmRelease of any name password',
    '16 Secret other user',
  ]);
});

test('aliases in a JSON patch are read', () => {
  const text = `patchesJson6902:
  - target: &db {kind: Secret, name: db}
    patch: '[{"op": &op "add", "path": &at "/stringData/a", "value": "correct-horse"}, {"op": *op, "path": *at, "value": "correct-horse"}]'
  - target: *db
    patch: '[{"op": "add", "path": "/stringData/b", "value": "correct-horse"}]'
`;
  const { bytes, leftOut } = withoutSecrets(Buffer.from(text), 'shop');
  expect(bytes.toString()).not.toContain('correct-horse');
  expect(leftOut.map(({ keys }) => keys)).toEqual([['a'], ['a'], ['b']]);
});

test('of keys that are there twice the last one counts, as for Helm, and a Secret in the one before is left out', () => {
  const text = `apiVersion: v1
kind: Secret
metadata: {name: db}
stringData: {password: correct-horse}
stringData: {}
---
kind: Secret
kind: ConfigMap
apiVersion: v1
metadata: {name: a}
data: {a: b} # kept
`;
  const { bytes, mistake } = withoutSecrets(Buffer.from(text), 'shop');
  expect(mistake).toBeUndefined();
  expect(bytes.toString()).not.toContain('correct-horse');
  expect(bytes.toString()).toContain('data: { a: b } # kept');
});

test('merge keys may be repeated', () => {
  const text = 'kind: Secret\na: &a {x: 1}\nb: &b {y: 2}\nc:\n  <<: *a\n  <<: *b\n';
  const bytes = Buffer.from(text);
  expect(withoutSecrets(bytes, 'shop')).toMatchObject({ bytes, mistake: undefined });
});

test.each([
  [
    'in a Secret',
    'apiVersion: v1\nkind: Secret\nmetadata: {name: db}\nstringData: {password: *nowhere}\n',
    4,
  ],
  [
    'beside a Secret',
    'apiVersion: v1\nkind: Secret\nmetadata: {name: db}\nstringData: {a: b}\nother: *nowhere\n',
    5,
  ],
  ['whose anchor was in a key that does not count', 'kind: Secret\na: &a 1\na: 2\nb: *a\n', 4],
])('an alias without an anchor %s is a mistake of the file at its line', (_, text, line) => {
  const { mistake } = withoutSecrets(Buffer.from(text), 'shop');
  expect(mistake).toMatchObject({ message: 'an alias has no anchor before it', at: { line } });
});

test('a Secret with more aliases than anybody writes is a mistake of its file', () => {
  const doubled = Array.from({ length: 12 }, (_, at) => `k${at + 1}: &k${at + 1} [*k${at}, *k${at}]`).join(
    '\n',
  );
  const text = `apiVersion: v1\nkind: Secret\nmetadata: {name: db}\nstringData: {a: b}\nk0: &k0 x\n${doubled}\n`;
  expect(withoutSecrets(Buffer.from(text), 'shop').mistake).toMatchObject({
    message: 'its aliases repeat too much',
    at: { line: 1 },
  });
});

const SECRET = 'apiVersion: v1\nkind: Secret\nmetadata: {name: db}\n';

test.each([
  ['in the kind', 'apiVersion: v1\nkind: &k Secret\nmetadata: {name: *k}\nstringData: {a: correct-horse}\n'],
  [
    'for the kind of another object',
    `apiVersion: v1
kind: List
items:
  - {apiVersion: v1, kind: &k ConfigMap, metadata: {name: a}}
  - {apiVersion: v1, kind: &s Secret, metadata: {name: a}}
  - {apiVersion: v1, kind: *s, metadata: {name: b}, stringData: {a: correct-horse}}
`,
  ],
  ['for the values, in another field', `${SECRET}stringData: &d {a: correct-horse}\nother: *d\n`],
  ['for a generator', 'secretGenerator:\n  - &g {name: db, literals: [a=correct-horse]}\n  - *g\n'],
  ['in a merge key', `x: &x {stringData: {a: correct-horse}}\n${SECRET}<<: *x\n`],
  ['in a list of merge keys', `x: &x [{data: {b: x}}, {stringData: {a: correct-horse}}]\n${SECRET}<<: *x\n`],
  [
    'in a merge key of an item, from a field of its list',
    `apiVersion: v1
kind: List
x: &x {stringData: {a: correct-horse}}
items:
  - {apiVersion: v1, kind: Secret, metadata: {name: db}, <<: *x}
`,
  ],
])('a value of a Secret is left out with an alias %s', (_, text) => {
  const { bytes, leftOut, mistake } = withoutSecrets(Buffer.from(text), 'shop');
  expect(mistake).toBeUndefined();
  expect(leftOut.length).toBeGreaterThan(0);
  expect(bytes.toString()).not.toContain('correct-horse');
  expect(bytes.toString()).toContain('fleet-ferry/secret-set: shop');
});

test('an alias for what a Secret loses is written out', () => {
  const text = `apiVersion: v1
kind: List
items:
  - {apiVersion: v1, kind: Secret, metadata: {name: db}, stringData: &d {user: ann}}
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: db}, data: *d}
`;
  const { bytes } = withoutSecrets(Buffer.from(text), 'shop');
  expect(bytes.toString()).toContain('data: { user: ann }');
  expect(bytes.toString()).not.toMatch(/stringData|[&*]d/);
});

test.each([
  [
    'a patch for Secrets',
    `patches:
  - target: {kind: Secret, name: db}
    patch: |
      {x: &x {a: correct-horse}, stringData: {<<: *x}}
`,
  ],
  [
    'the values of a HelmRelease',
    `x: &x {password: correct-horse}
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: db}
spec: {values: {<<: *x}}
`,
  ],
])('a secret that a merge key copies into %s is left out where it was written, too', (_, text) => {
  const { bytes, leftOut } = withoutSecrets(Buffer.from(text), 'shop');
  expect(leftOut).toHaveLength(1);
  expect(bytes.toString()).not.toContain('correct-horse');
});

test('a patch that deletes a Secret still deletes it', () => {
  const text = `${SECRET}stringData: {a: correct-horse}\n---\n${SECRET}$patch: delete\n`;
  const { bytes } = withoutSecrets(Buffer.from(text), 'shop');
  expect(bytes.toString()).not.toContain('correct-horse');
  expect(bytes.toString()).toContain('$patch: delete');
});

test('an alias refers to the last anchor of its name in the source, not to the copy that replaces another alias', () => {
  const text = `apiVersion: v1
kind: List
items:
  - &object {apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {a: &value before}}
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: b}, data: {b: &value after}}
  - *object
  - {apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {c: *value}}
  - {apiVersion: v1, kind: Secret, metadata: {name: db}, stringData: {a: correct-horse}}
`;
  expect(withoutSecrets(Buffer.from(text), 'shop').bytes.toString()).toContain('data: { c: after }');
});

test('a file with a thousand anchors is cleaned in a moment', () => {
  const items = Array.from(
    { length: 1000 },
    (_, at) => `  - {kind: ConfigMap, data: &a${at} {x: y}, <<: *a${at}}\n`,
  );
  const { bytes } = withoutSecrets(
    Buffer.from(`kind: List\nitems:\n${items.join('')}---\n${SECRET}stringData: {a: correct-horse}\n`),
    'shop',
  );
  expect(bytes.toString().match(/data: \{ x: y \}, x: y/g)).toHaveLength(1000);
});
