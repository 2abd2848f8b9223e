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
