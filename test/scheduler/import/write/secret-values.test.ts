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
