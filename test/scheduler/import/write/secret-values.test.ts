import { expect, test } from 'vitest';
import {
  holdsSecret,
  withoutSecrets,
  withoutSecretValues,
} from '../../../../scheduler/import/write/secret-values.ts';

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
  expect(holdsSecret('a.yaml', Buffer.from(text))).toBe(true);
  const { bytes, leftOut } = withoutSecrets(Buffer.from(text), 'shop');
  expect(leftOut).toEqual([{ subject: 'Secret db', line: 5, keys: ['user', 'password'] }]);
  expect(bytes.toString()).not.toMatch(/dXNlcg|correct-horse/);
  expect(bytes.toString()).toContain('fleet-ferry/secret-set: shop');
  expect(bytes.toString()).toContain('fleet-ferry/secret-keys: user=db.user,password=db.password');
  expect(bytes.toString()).toContain('kind: ConfigMap');
});

test('an encrypted Secret, and one without values, are copied unchanged', () => {
  const sops = 'apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {a: "ENC[...]"}\nsops: {mac: x}\n';
  expect(holdsSecret('a.yaml', Buffer.from(sops))).toBe(false);
  expect(holdsSecret('a.yaml', Buffer.from('apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n'))).toBe(
    false,
  );
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
  expect(holdsSecret('a.yaml', Buffer.from(list))).toBe(true);
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
