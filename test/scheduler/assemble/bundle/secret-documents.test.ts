import { describe, expect, it, test } from 'vitest';
import { FleetError, formatError } from '#bundles/errors';
import { assembleKubernetes } from '../../../../scheduler/assemble/bundle/assemble-kubernetes.ts';
import { plainSecrets } from '../../../../scheduler/assemble/bundle/secret-documents.ts';
import { createObjectCheck } from '../../../../scheduler/plan/validate/kubernetes/create-object-check.ts';
import { readCustomKinds } from '../../../../scheduler/plan/validate/kubernetes/custom-kinds.ts';
import { judgeFor } from '../../../../scheduler/build/load/open-judges.ts';
import { clusterType, renderedPackage, target } from '../../model-objects.ts';

const at = { file: 'x.yaml', line: 1, column: 1 };
const edge = clusterType('edge', { offline: true });
const grants = { paths: [], units: [], users: [], secretSets: ['mqtt'] };
const rendered = renderedPackage(edge, target('shop/web', { registration: 'shop', grants, at }), {
  namespace: 'shop',
});

const judge = judgeFor(createObjectCheck(readCustomKinds([])), edge);
const assemble = (files: Readonly<Record<string, string>>) =>
  assembleKubernetes(
    rendered,
    {
      shown: 'app/',
      files: new Map(Object.entries(files).map(([path, text]) => [path, Buffer.from(text)])),
    },
    new Map(),
    new Map(),
    judge,
  );
const textOf = (made: ReturnType<typeof assemble>, path: string): string | undefined =>
  made.files.find((file) => file.path === path)?.bytes.toString();
const refused = (files: Readonly<Record<string, string>>): string => {
  try {
    assemble(files);
  } catch (error) {
    if (error instanceof FleetError) return formatError(error);
    throw error;
  }
  return 'taken';
};

const secret = (more: string, metadata = '') =>
  `apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\n${metadata}${more}`;
const sops = (mac: string) =>
  `sops:\n    age:\n        - enc: |\n            -----BEGIN AGE ENCRYPTED FILE-----\n            YWdl\n            -----END AGE ENCRYPTED FILE-----\n          recipient: age1x\n    lastmodified: "2026-11-21T08:00:00Z"\n    mac: ENC[AES256_GCM,data:${mac},type:str]\n    version: 3.13.3\n`;
const DATA = 'data:\n    password: ENC[AES256_GCM,data:oMMG,iv:hlNi==,tag:j6du==,type:str]\n';

describe('a document encrypted by SOPS', () => {
  const text = secret(DATA + sops('abc'));

  it('is packaged unchanged: no namespace is set and the encrypted content is not checked', () => {
    const made = assemble({ 'db.yaml': text });
    expect(textOf(made, 'manifests/db.yaml')).toBe(text);
    expect(made.owns).toEqual(['Secret shop/db']);
    expect(made.needsSecrets).toBe(true);
    expect(made.plainSecrets).toEqual([]);
  });

  it('gets its namespace from the kustomization when Kustomize builds it', () => {
    const kustomization = textOf(assemble({ 'db.yaml': text }), 'kustomization.yaml');
    expect(kustomization).toContain('target: {kind: "Secret", name: "db"}');
    expect(kustomization).toContain('"path": "/metadata/namespace", "value": "shop"');
  });

  it('keeps an explicit namespace, if its author may write there', () => {
    const own = secret(DATA + sops('abc'), '  namespace: shop\n');
    expect(textOf(assemble({ 'db.yaml': own }), 'kustomization.yaml')).not.toContain('patches');
    const foreign = secret(DATA + sops('abc'), '  namespace: kube-system\n');
    expect(refused({ 'db.yaml': foreign })).toContain('NAMESPACE_FOREIGN');
  });

  it('may share a file with other objects, which get the namespace as usual', () => {
    const other = 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n';
    const made = textOf(assemble({ 'all.yaml': `${other}---\n${text}` }), 'manifests/all.yaml');
    expect(made).toBe(`${other}  namespace: shop\n---\n${text}`);
  });

  it('is packed without the .sops.yaml beside it', () => {
    const made = assemble({ 'db.yaml': text, '.sops.yaml': 'creation_rules:\n  - age: age1x\n' });
    expect(made.files.map(({ path }) => path)).toEqual(['kustomization.yaml', 'manifests/db.yaml']);
  });

  it('clashes with an object of the same identity', () => {
    expect(refused({ 'a.yaml': text, 'b.yaml': secret('type: Opaque\n') })).toContain('OBJECT_CLASH');
  });

  it('is refused when two encrypted documents share one MAC, because each would fail its check alone', () => {
    const second = text.replace('name: db', 'name: web');
    const error = refused({ 'db.yaml': `${text}---\n${second}` });
    expect(error).toContain('app/db.yaml:');
    expect(error).toContain('encrypted in one file with Secret db');
    expect(refused({ 'a.yaml': text, 'b.yaml': second.replace('data:abc', 'data:def') })).toBe('taken');
  });

  it('is refused with encrypted metadata, with the command that encrypts data only', () => {
    const hidden = text.replace('name: db', 'name: ENC[AES256_GCM,data:x,type:str]');
    expect(refused({ 'db.yaml': hidden })).toContain("--encrypted-regex '^(data|stringData)$'");
  });

  it('is refused with a container, whose image could not be pinned inside it', () => {
    const pod = `apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - {name: c, image: nginx}\n${sops('abc')}`;
    expect(refused({ 'pod.yaml': pod })).toContain('app/pod.yaml:6:');
  });
});

describe('a Secret that is filled from a secret set', () => {
  const filled = (annotations: string, more = '') => secret(more, `  annotations:\n${annotations}`);
  const SET = '    fleet-ferry/secret-set: mqtt\n';

  it.each([
    ['all keys', filled(SET)],
    ['some keys', filled(`${SET}    fleet-ferry/secret-keys: password,ca.crt=ca\n`, 'type: Opaque\n')],
  ])('is accepted with %s, and marks the package as needing secrets', (_, text) => {
    const made = assemble({ 'db.yaml': text });
    expect(textOf(made, 'manifests/db.yaml')).toContain('namespace: shop');
    expect(made.needsSecrets).toBe(true);
    expect(made.plainSecrets).toEqual([]);
  });

  const KEYS = '    fleet-ferry/secret-keys: ';
  it.each([
    ['no set', filled(`${KEYS}a\n`), 'names no secret set'],
    ['a set that is not a name', filled('    fleet-ferry/secret-set: My Set\n'), 'names no secret set'],
    ['data of its own', filled(SET, 'data: {a: YQ==}\n'), 'has no data of its own'],
    ['text of its own', filled(SET, 'stringData: {a: b}\n'), 'has no stringData of its own'],
    ['a key twice', filled(`${SET}${KEYS}a,a=b\n`), 'is not a list of keys'],
    ['an empty key', filled(`${SET}${KEYS}a,\n`), 'is not a list of keys'],
    ['a key with a slash', filled(`${SET}${KEYS}a/b\n`), 'is not a list of keys'],
    ['a key that Kubernetes refuses', filled(`${SET}${KEYS}..a=a\n`), 'is not a list of keys'],
    ['two sources for a key', filled(`${SET}${KEYS}a=b=c\n`), 'is not a list of keys'],
  ])('is refused with %s, with its position', (_, text, message) => {
    const error = refused({ 'db.yaml': text });
    expect(error).toContain(message);
    expect(error).toMatch(/^app\/db\.yaml:\d+:\d+: OBJECT_INVALID: Secret db: /);
  });

  it('must be of kind Secret', () => {
    const map = `apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: db\n  annotations:\n${SET}`;
    expect(refused({ 'db.yaml': map })).toContain('is for Secrets only');
  });
});

describe('a Secret in plain text', () => {
  it.each([
    ['data', 'data: {password: aHVudGVyMg==}\n', 1],
    ['text', 'stringData: {password: hunter2}\n', 1],
    ['nothing in it', 'data: {}\n', 0],
    ['an empty value', 'stringData: {password: ""}\n', 0],
    ['a type alone', 'type: Opaque\n', 0],
  ])('is reported but not refused, when it has %s', (_, more, count) => {
    const made = assemble({ 'db.yaml': secret(more) });
    const advice = plainSecrets(made.plainSecrets ?? []).map(formatError);
    expect(advice).toHaveLength(count);
    expect(made.needsSecrets).toBeUndefined();
    for (const line of advice) {
      expect(line).toMatch(/^app\/db\.yaml:1:1: SECRET_PLAIN: Secret db: /);
      expect(line).not.toContain('hunter2');
    }
  });
});

test('a manifest prepared for one namespace is reused for the next with the same result as a separate preparation', () => {
  const texts = {
    'db.yaml': secret(DATA + sops('shop-abc'), '  annotations: {of: shop}\n'),
    'plain.yaml': secret('stringData: {password: hunter2}\n').replace('name: db', 'name: shop'),
    'mqtt.yaml': secret('', '  annotations:\n    fleet-ferry/secret-set: mqtt\n').replace(
      'name: db',
      'name: m',
    ),
  };
  const application = {
    shown: 'app/',
    files: new Map(Object.entries(texts).map(([path, text]) => [path, Buffer.from(text)])),
  };
  const cache: Parameters<typeof assembleKubernetes>[3] = new Map();
  for (const namespace of ['shop', 'quay', 'shop']) {
    const one = { ...rendered, namespace };
    const shared = assembleKubernetes(one, application, new Map(), cache, judge);
    const alone = assembleKubernetes(one, application, new Map(), new Map(), judge);
    expect(shared.files).toEqual(alone.files);
    expect(shared.plainSecrets).toEqual(alone.plainSecrets);
    expect([shared.needsSecrets, shared.plainSecrets?.length]).toEqual([true, 1]);
    expect(textOf(shared, 'manifests/db.yaml')).toBe(texts['db.yaml']);
    expect(textOf(shared, 'kustomization.yaml')).toContain(`"value": "${namespace}"`);
  }
});

test.for([
  ['plain', secret('', '  annotations: {fleet-ferry/secret-set: payroll}\n')],
  ['behind an alias', secret('', '  labels: &a {fleet-ferry/secret-set: payroll}\n  annotations: *a\n')],
  [
    'in a List',
    `apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Secret, metadata: {name: a, annotations: {fleet-ferry/secret-set: payroll}}}\n`,
  ],
  [
    'in an encrypted document',
    secret(DATA + sops('a'), '  annotations: {fleet-ferry/secret-set: payroll}\n'),
  ],
] as const)('N26: a foreign secret set on a cluster, %s -> OUT_OF_BOUNDS', ([, text]) => {
  const said = refused({ 'db.yaml': text });
  const [place, code, subject] = said.split(': ');
  expect(code).toBe('OUT_OF_BOUNDS');
  expect(place).toMatch(/^app\/db\.yaml:\d+:\d+$/);
  expect(subject).toMatch(/^Secret (?:db|a)$/);
  expect(said).toContain('host: {secretSets: [payroll]}');
});

test('the package lists the namespaces and the secret sets of its workspace, which agents check again', () => {
  expect(assemble({ 'a.yaml': secret('') }).bounds).toEqual({
    namespaces: ['shop'],
    secretSets: ['mqtt', 'shop', 'team'],
  });
});
