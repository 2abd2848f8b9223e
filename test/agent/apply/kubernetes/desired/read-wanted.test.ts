import { describe, expect, it } from 'vitest';
import type { Json } from '#bundles/json/canonical';
import { digestOf } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import {
  readManifests,
  type ScopeOf,
  toWanted,
} from '../../../../../agent/apply/kubernetes/desired/read-wanted.ts';
import type { DesiredPackage } from '../../../../../agent/model/target.ts';

const refusalOf = (call: () => unknown): FleetError => {
  try {
    call();
  } catch (error) {
    if (error instanceof FleetError) return error;
    throw error;
  }
  throw new Error('it was let through');
};

const scopeOf: ScopeOf = ({ kind }) => {
  if (kind === 'Rocket') return undefined;
  return kind === 'Namespace' || kind === 'ClusterRole' ? 'Cluster' : 'Namespaced';
};

const packageOf = (
  files: Readonly<Record<string, string>>,
  siteInputs: readonly { readonly file: string; readonly pointer: string; readonly value: Json }[] = [],
): DesiredPackage => ({
  assignment: 'web',
  package: digestOf('package'),
  siteValues: digestOf('values'),
  files: new Map(Object.entries(files).map(([path, text]) => [path, Buffer.from(text)])),
  siteInputs: siteInputs.map((it) => ({ input: 'value', assignment: 'web', ...it })),
});

const read = (
  files: string | Readonly<Record<string, string>>,
  inputs: Parameters<typeof packageOf>[1] = [],
) => {
  const desired = packageOf(typeof files === 'string' ? { 'app.yaml': files } : files, inputs);
  return toWanted(readManifests(desired), scopeOf, { fleet: 'halden', assignment: 'web' });
};

const map = (name: string, more = '') =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}, namespace: ns}\n${more}\n`;

describe('the objects of a package', () => {
  it('have the annotations of their owner beside their own', () => {
    const [object] = read(map('a').replace('ns}', 'ns, annotations: {of: theirs}}'));
    expect(object).toMatchObject({
      key: '/ConfigMap/ns/a',
      object: {
        metadata: {
          annotations: { of: 'theirs', 'fleet-ferry/assignment': 'web', 'fleet-ferry/fleet': 'halden' },
        },
      },
    });
  });

  it('are read from every YAML file and document with lists expanded, except kustomization.yaml', () => {
    const list =
      'apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: b, namespace: ns}}\n- {apiVersion: v1, kind: Secret, metadata: {name: c, namespace: ns}}\n';
    const typed = 'apiVersion: v1\nkind: ConfigMapList\nitems: [{metadata: {name: d, namespace: ns}}]\n';
    const files = {
      'a.yaml': `# nothing\n---\n${map('a')}`,
      'manifests/list.yml': `${list}---\n${typed}`,
      'manifests/kustomization.yaml': 'kind: Kustomization\n',
      'README.md': '# no object',
    };
    expect(read(files).map(({ key }) => key)).toEqual([
      '/ConfigMap/ns/a',
      '/ConfigMap/ns/b',
      '/ConfigMap/ns/d',
      '/Secret/ns/c',
    ]);
  });

  it('are selected by no rule for a namespace that is written although their kind has none', () => {
    const rules: DesiredPackage['objectRules'] = [
      { kinds: ['*'], namespaces: ['ns'], drift: 'report', ignore: ['/rules'] },
      { kinds: ['ClusterRole'], wait: false },
    ];
    const role = (namespace: string) =>
      `apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: a${namespace}}\nrules: []\n`;
    const of = (text: string) => {
      const desired = { ...packageOf({ 'app.yaml': text }), objectRules: rules };
      const owner = { fleet: 'halden', assignment: 'web' };
      return toWanted(readManifests(desired), scopeOf, owner, () => false, rules);
    };
    const [written] = of(role(', namespace: ns'));
    expect(written).toMatchObject({ key: 'rbac.authorization.k8s.io/ClusterRole//a' });
    expect(written?.policy).toMatchObject({ drift: 'correct', ignore: { pointers: [] }, wait: false });
    expect(written?.hash).toBe(of(role(''))[0]?.hash);
    expect(of(map('a'))[0]?.policy).toMatchObject({ drift: 'report', wait: true });
  });

  it('are refused when two have the same identity, with both places named', () => {
    const refusal = refusalOf(() =>
      read({ 'a.yaml': map('same'), 'b.yaml': `${map('other')}---\n${map('same')}` }),
    );
    expect(refusal).toMatchObject({ code: 'OBJECT_CLASH' });
    expect(refusal.message).toContain('in a.yaml and in b.yaml (document 2)');
  });

  it('are refused with a duplicate key, without kind, name or namespace, and of an unknown kind', () => {
    expect(refusalOf(() => read(`${map('a', 'data: {}')}data: {}\n`))).toMatchObject({
      code: 'YAML_SYNTAX',
      at: { file: 'app.yaml', line: 5 },
    });
    expect(refusalOf(() => read('just text')).code).toBe('OBJECT_INVALID');
    expect(refusalOf(() => read('kind: ConfigMap\n')).message).toContain('no apiVersion');
    expect(refusalOf(() => read('apiVersion: v1\nkind: ConfigMap\n')).message).toContain('no metadata.name');
    expect(refusalOf(() => read(map('a').replace(', namespace: ns', ''))).message).toContain(
      'no namespace is given for ConfigMap a in app.yaml',
    );
    expect(refusalOf(() => read(map('a').replace('ConfigMap', 'Rocket')))).toMatchObject({
      code: 'CLUSTER_LACKS',
    });
  });

  it('have no namespace if their kind has none', () => {
    const [object] = read('apiVersion: v1\nkind: Namespace\nmetadata: {name: a, namespace: stamped}\n');
    expect(object).toMatchObject({ key: '/Namespace//a', namespace: undefined });
    expect(JSON.parse(JSON.stringify(object?.object.metadata))).not.toHaveProperty('namespace');
  });

  it('have scalars of the types that Kustomize reads: octal modes are numbers; words, times and base 60 are text', () => {
    const [object] = read(
      map(
        'a',
        'data: {mode: 0644, y: yes, on: off, t: True, date: 2026-11-21, time: 12:30:45, hex: 0x10, octal: 0o17, f: 1e3}',
      ),
    );
    expect(object?.object['data']).toEqual({
      mode: 420,
      y: 'yes',
      on: 'off',
      t: true,
      date: '2026-11-21',
      time: '12:30:45',
      hex: 16,
      octal: 15,
      f: 1000,
    });
  });

  it('have a hash that ignores the order of keys and changes with a value', () => {
    const hashOf = (data: string) => read(map('a', `data: ${data}`))[0]?.hash;
    expect(hashOf('{a: "1", b: "2"}')).toBe(hashOf('{b: "2", a: "1"}'));
    expect(hashOf('{a: "1", b: "2"}')).not.toBe(hashOf('{a: "1", b: "3"}'));
  });

  it('contain no field that the server sets or rewrites', () => {
    const secret =
      'apiVersion: v1\nkind: Secret\nmetadata: {name: a, namespace: ns, creationTimestamp: null, resourceVersion: "1", ownerReferences: [{apiVersion: v1, kind: Pod, name: p, uid: u}]}\ndata: {b: Yg==}\nstringData: {c: c}\nstatus: {x: 1}\n';
    const [object] = read(secret);
    expect(object?.object).toMatchObject({ data: { b: 'Yg==', c: 'Yw==' } });
    expect(object?.object).not.toHaveProperty('stringData');
    expect(object?.object).not.toHaveProperty('status');
    expect(object?.object.metadata).not.toHaveProperty('resourceVersion');
    // The uid is of another cluster: the garbage collector would delete the object each time.
    expect(object?.object.metadata).not.toHaveProperty('ownerReferences');
    expect(object?.object.metadata).not.toHaveProperty('creationTimestamp');
    const role =
      'apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata: {name: a}\naggregationRule: {}\nrules: []\n';
    expect(read(role)[0]?.object['rules']).toBeUndefined();
  });

  it.each([
    ['fleet-ferry/adopt: allways', 'Did you mean always?'],
    ['fleet-ferry/drift: correkt', 'correct, report, ignore'],
    ['fleet-ferry/hook: pre', 'before, after, failed'],
    ['fleet-ferry/hook-delete: always', 'before (the default), succeeded, failed'],
    ['fleet-ferry/ignore: spec.replicas', 'JSON pointers'],
    ['fleet-ferry/timeout: soon', '20m'],
  ])('are refused with %s, with what is meant', (annotation, hint) => {
    const refused = refusalOf(() => read(map('a').replace('ns}', `ns, annotations: {${annotation}}}`)));
    expect(refused).toMatchObject({ code: 'OBJECT_INVALID', at: { file: 'app.yaml' } });
    expect(refused.message).toContain('ConfigMap a has fleet-ferry/');
    expect(refused.hint?.toLowerCase()).toContain(hint.toLowerCase());
  });

  it('have their policy from the fleet-ferry annotations', () => {
    const policy = (annotations: string) =>
      read(map('a').replace('ns}', `ns, annotations: ${annotations}}`))[0]?.policy;
    expect(policy('{}')).toEqual({
      apply: 'override',
      fields: 'merge',
      recreate: false,
      prune: true,
      wait: true,
      drift: 'correct',
      conflicts: 'force',
      ignore: { pointers: [], managers: [] },
      order: { phase: 'main', wave: '0', dependsOn: [], isHook: false, deletedAfter: new Set() },
    });
    expect(
      policy(
        '{fleet-ferry/apply: ignore, fleet-ferry/fields: strict, fleet-ferry/force: enabled, fleet-ferry/prune: disabled, fleet-ferry/wait: disabled}',
      ),
    ).toMatchObject({ apply: 'ignore', fields: 'strict', recreate: true, prune: false, wait: false });
    // Helm's own words, over which ours win.
    expect(policy('{helm.sh/resource-policy: keep}')?.prune).toBe(false);
    expect(policy('{helm.sh/resource-policy: " Keep "}')?.prune).toBe(false);
    expect(policy('{helm.sh/resource-policy: delete}')?.prune).toBe(true);
    expect(policy('{helm.sh/resource-policy: keep, fleet-ferry/prune: enabled}')?.prune).toBe(true);
    expect(policy('{helm.sh/hook: pre-install}')?.recreate).toBe(true);
    expect(
      policy(
        '{helm.sh/hook: pre-install, helm.sh/hook-delete-policy: "hook-succeeded, before-hook-creation"}',
      )?.recreate,
    ).toBe(true);
    expect(policy('{helm.sh/hook: pre-install, helm.sh/hook-delete-policy: hook-failed}')?.recreate).toBe(
      false,
    );
    expect(policy('{helm.sh/hook: pre-install, fleet-ferry/force: disabled}')?.recreate).toBe(false);
    expect(policy('{helm.sh/hook-delete-policy: before-hook-creation}')?.recreate).toBe(false);
  });
});

describe('site values', () => {
  it('replace the field at their pointer in their document, with their JSON type', () => {
    const files = { 'app.yaml': `${map('a', 'data: {x: "1"}')}---\n${map('b', 'data: {list: [{m: 1}]}')}` };
    const objects = read(files, [
      { file: 'app.yaml', pointer: '/1/data/list/0/m', value: 7 },
      { file: 'app.yaml', pointer: '/0/data/a~1b', value: 'new' },
    ]);
    expect(objects.map(({ object }) => object['data'])).toEqual([
      { x: '1', 'a/b': 'new' },
      { list: [{ m: 7 }] },
    ]);
  });

  it.each(['/0/spec/x', '/2/data/x', '/0', 'data/x', '/-1/data/x', '/0/data/x/y'])(
    'are refused at %s, which does not exist, without their value in the message',
    (pointer) => {
      const refusal = refusalOf(() =>
        read(map('a', 'data: {x: "1"}'), [{ file: 'app.yaml', pointer, value: 'hush' }]),
      );
      expect(refusal.code).toBe('SITE_VALUES');
      expect(refusal.message).toContain(JSON.stringify(pointer));
      expect(refusal.message).not.toContain('hush');
    },
  );

  it.each([
    ['a privilege', '/0/spec/template/spec/hostNetwork', true],
    ['its namespace', '/0/metadata/namespace', 'kube-system'],
    ['volumes of the host', '/0/spec/template/spec/volumes', [{ name: 'a', hostPath: { path: '/' } }]],
    ['the rights of others', '/1/rules', []],
  ])(
    'N91: fields of site values at the agent, with the value in: %s -> OUT_OF_BOUNDS',
    (_, pointer, value) => {
      const text = `apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: ns}
spec: {template: {spec: {hostNetwork: false, volumes: []}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: web, namespace: ns}
rules: []
`;
      const refusal = refusalOf(() => read(text, [{ file: 'app.yaml', pointer, value }]));
      expect(refusal.code).toBe('OUT_OF_BOUNDS');
      expect(refusal.message).toContain(JSON.stringify(pointer));
    },
  );
});
