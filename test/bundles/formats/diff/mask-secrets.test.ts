import { describe, expect, it } from 'vitest';
import { compareItems } from '#bundles/formats/diff/compare-items';
import { holdsSecret, maskSecrets } from '#bundles/formats/diff/mask-secrets';
import { readItems } from '#bundles/formats/diff/read-items';
import { verdict } from '../../verdict.ts';

/** What a difference between two states of one file shows. */
const diffOf = (path: string, before: string | undefined, after: string | undefined): string => {
  const items = (text: string | undefined) =>
    readItems(new Map(text === undefined ? [] : [[path, Buffer.from(text)]]));
  const [left, right] = [items(before), items(after)];
  return [...new Set([...left.keys(), ...right.keys()])]
    .map((key) => JSON.stringify(compareItems(left.get(key), right.get(key)) ?? ''))
    .join('\n');
};

const base64 = (value: string): string => Buffer.from(value).toString('base64');
const json = (value: string): string =>
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'door' },
    data: { code: base64(value) },
  });
const secret = (value: string, head = 'kind: Secret'): string =>
  `apiVersion: v1\n${head}\nmetadata: {name: door}\nstringData:\n  code: ${value}\n`;
const indented = (text: string, by: number): string => text.replace(/^(?=.)/gm, ' '.repeat(by));
const CONFIG = 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop}\n';

/** A Secret as files may hold one; each takes the value and says it somewhere. */
const FORMS: readonly (readonly [title: string, path: string, form: (value: string) => string])[] = [
  ['YAML', 'a.yaml', secret],
  ['JSON in a file of YAML', 'a.yaml', json],
  ['JSON', 'a.json', json],
  ['JSON in a file of any name', 'a.txt', (value) => `${json(value)}\n`],
  ['a quoted kind', 'a.yaml', (value) => secret(value, '"kind": "Secret"')],
  ['a kind in escapes', 'a.yaml', (value) => secret(value, String.raw`kind: "\x53ecre\u0074"`)],
  [
    'a key in escapes, beside a list',
    'a.yaml',
    (value) => `- 1\n---\n${secret(value, String.raw`"\x6bind": Secret`)}`,
  ],
  ['an explicit key', 'a.yaml', (value) => secret(value, '? kind\n: Secret')],
  ['an aliased kind', 'a.yaml', (value) => secret(value, 'x: &s Secret\nkind: *s')],
  [
    'a kind after the data',
    'a.yaml',
    (value) => `stringData: {code: ${value}}\n${secret('none').replace(/stringData[^]*/, '')}`,
  ],
  ['an indented document', 'a.yaml', (value) => indented(secret(value), 3)],
  ['beside a document that is not an object', 'a.yaml', (value) => `[1, 2]\n---\n${secret(value)}`],
  ['beside a text', 'a.yaml', (value) => `just words\n---\n${secret(value)}`],
  ['without a name', 'a.yaml', (value) => secret(value).replace('{name: door}', '{}')],
  [
    'a List',
    'a.yaml',
    (value) => `apiVersion: v1\nkind: List\nitems:\n- ${indented(secret(value), 2).trim()}\n`,
  ],
  [
    'a List beside a text',
    'a.yaml',
    (value) => `apiVersion: v1\nkind: List\nitems:\n- words\n- ${indented(secret(value), 2).trim()}\n`,
  ],
  [
    'a SecretList',
    'a.yaml',
    (value) =>
      `apiVersion: v1\nkind: SecretList\nitems:\n- metadata: {name: door}\n  data: {code: ${base64(value)}}\n`,
  ],
  [
    'a SecretList without names',
    'a.yaml',
    (value) => `kind: SecretList\nitems: [{data: {code: ${value}}}, ${value}]\n`,
  ],
  [
    'a template of another kind',
    'a.yaml',
    (value) => `${CONFIG}spec:\n  template:\n${indented(secret(value), 4)}`,
  ],
  [
    'a template of a SealedSecret',
    'a.yaml',
    (value) =>
      `apiVersion: bitnami.com/v1alpha1\nkind: SealedSecret\nmetadata: {name: door}\nspec: {encryptedData: {a: AgB4}, template: {data: {code: ${value}}}}\n`,
  ],
  [
    'a ClusterSecret',
    'a.yaml',
    (value) =>
      `apiVersion: clustersecret.io/v1\nkind: ClusterSecret\nmetadata: {name: door}\ndata: {code: ${value}}\n`,
  ],
  [
    'text in a ConfigMap',
    'a.yaml',
    (value) => `${CONFIG}data:\n  all.yaml: |\n${indented(secret(value), 4)}`,
  ],
  ['JSON text in a ConfigMap', 'a.yaml', (value) => `${CONFIG}data:\n  all.json: '${json(value)}'\n`],
  ['text in text', 'a.yaml', (value) => `${CONFIG}data:\n  a: |\n    b: |\n${indented(secret(value), 6)}`],
  [
    'a script in a ConfigMap',
    'a.yaml',
    (value) =>
      `${CONFIG}data:\n  a.sh: |\n    kubectl apply -f - <<EOF\n${indented(secret(value), 4)}    EOF\n`,
  ],
  ['a script', 'a.sh', (value) => `#!/bin/sh\nkubectl apply -f - <<EOF\n${secret(value)}EOF\n`],
  ['a mistake in the YAML', 'a.yaml', (value) => `${secret(value)}  x: [\n`],
  ['a template that is not filled in', 'a.tpl', (value) => `{{- if .x }}\n${secret(value)}{{- end }}\n`],
  [
    'the last applied state',
    'a.yaml',
    (value) =>
      secret('same').replace(
        '{name: door}',
        JSON.stringify({
          name: 'door',
          annotations: { 'kubectl.kubernetes.io/last-applied-configuration': json(value) },
        }),
      ),
  ],
  ['a field that a Secret has not', 'a.yaml', (value) => `${secret('same')}spec: {a: [${value}]}\n`],
  [
    'data that is not a mapping',
    'a.yaml',
    (value) => secret('same').replace(/stringData[^]*/, `data: [${value}]\n`),
  ],
  [
    'secretGenerator',
    'kustomization.yaml',
    (value) => `kind: Kustomization\nsecretGenerator:\n- name: door\n  literals: [code=${value}]\n`,
  ],
  [
    'secretGenerator without a kind',
    'kustomization.yaml',
    (value) => `secretGenerator: [{name: door, literals: [code=${value}]}]\n`,
  ],
];

describe('the values of a Secret', () => {
  it.each(FORMS)(
    'N31: are masked, and a change shows only that they differ, for a Secret in %s',
    async (_title, path, form) => {
      const [one, two] = ['canary-hunter2', 'canary-longer-than-that'];
      const texts: string[] = [];
      const look = () =>
        texts.push(
          diffOf(path, form(one), form(two)),
          diffOf(path, undefined, form(one)),
          diffOf(path, form(one), undefined),
        );
      expect(await verdict(look)).toBe('ACCEPT');
      for (const text of texts) {
        expect(text).toContain('"diff":"@@');
        for (const value of [one, two])
          for (const trace of [value, base64(value), base64(base64(value))])
            expect(text).not.toContain(trace);
      }
      const [changed] = texts;
      expect(changed).toContain('(before)');
      expect(changed).toContain('(after)');
      expect(diffOf(path, form(one), form(one))).toBe('""');
    },
  );

  it('hides values of a ConfigMap with the names of secrets, as values of sites are withheld', () => {
    const of = (adminPassword: string, line: string) => ({
      kind: 'ConfigMap',
      metadata: { annotations: { 'kubectl.kubernetes.io/last-applied-configuration': adminPassword } },
      data: { adminPassword, line, 'db.token': 'same' },
      binaryData: { 'api-key': adminPassword },
    });
    const [before, after] = maskSecrets(of('old', '7'), of('new', '8'));
    expect(JSON.stringify([before, after])).not.toMatch(/"(?:old|new|same)"/);
    expect(before).toMatchObject({ data: { adminPassword: '*** (before)', line: '7', 'db.token': '***' } });
    expect(after).toMatchObject({ data: { adminPassword: '*** (after)', line: '8', 'db.token': '***' } });
    const plain = {
      kind: 'ConfigMap',
      metadata: {
        annotations: { 'kubectl.kubernetes.io/last-applied-configuration': '{"data":{"line":"7"}}' },
      },
      data: { line: '7' },
    };
    expect(maskSecrets<object>(plain, plain)).toEqual([plain, plain]);
  });

  it('are masked alone: other fields of the Secret and other objects are shown', () => {
    const object = {
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: 'door', labels: { team: 'gate' } },
      type: 'Opaque',
      immutable: true,
      data: { code: 'MTIzNA==' },
    };
    expect(maskSecrets<object>(object, { ...object, data: { code: 'OTg3Ng==', pin: 'MQ==' } })).toEqual([
      { ...object, data: { code: '*** (before)' } },
      { ...object, data: { code: '*** (after)', pin: '***' } },
    ]);
    for (const shown of [
      { kind: 'ConfigMap', data: { sauce: 'kind: Secret? no', note: 'a kind: of secret sauce\nb: c' } },
      { kind: 'SealedSecret', spec: { encryptedData: { a: 'AgB4' } } },
      { kind: 'ExternalSecret', spec: { data: [{ secretKey: 'a', remoteRef: { key: 'b' } }] } },
      { kind: 'Role', rules: [{ resources: ['secrets'], verbs: ['get'] }] },
      { kind: 'Deployment', spec: { volumes: [{ secret: { secretName: 'door' } }] } },
    ])
      expect(holdsSecret(shown)).toBe(false);
  });

  it('are masked alone: prose and scripts that mention secrets are shown', () => {
    const script = (n: number): string =>
      `#!/bin/sh\nprintf '\\x1b[0m' # keeps our secret sauce\nsleep ${n} \\\n  && ls\n`;
    expect(diffOf('run.sh', script(1), script(2))).toContain('-sleep 1');
    const values = (n: number): string => `secrets: {a: {kind: generic}}\nreplicas: ${n}\n`;
    expect(diffOf('values.yaml', values(1), values(2))).toContain('-replicas: 1');
  });
});

describe('files of a host package', () => {
  const digest = `sha256:${'0'.repeat(64)}`;
  const owned = { owner: 'root', group: 'root' };
  const packageOf = (content: string, mode: string) => {
    const file = {
      ...owned,
      path: '/etc/app/token',
      mode,
      content: 'files/token',
      digest: digest.replace(/0{8}$/, Buffer.from(content).toString('hex').slice(-8)),
      size: content.length,
    };
    const sealed = { ...owned, path: '/run/app/key', mode: '0644', content: 'secrets/key', digest, size: 3 };
    const spec = {
      formatVersion: 1,
      id: 'app',
      directories: [],
      files: [file],
      secrets: [sealed],
      units: [],
      checks: [],
      critical: ['secrets'],
    };
    return readItems(
      new Map([
        ['package.json', Buffer.from(JSON.stringify(spec))],
        ['files/token', Buffer.from(content)],
        ['secrets/key', Buffer.from(`ENC[${content}]`)],
      ]),
    );
  };
  const shown = (mode: string): string => {
    const [left, right] = [packageOf('canary-one', mode), packageOf('canary-three', mode)];
    return [...left.keys()].map((key) => compareItems(left.get(key), right.get(key))?.diff ?? '').join('\n');
  };

  it('N31: are not shown where only their owner may read them there, nor are their digest and size', () => {
    const text = shown('0400');
    expect(text).not.toMatch(/canary|2d6f6e65|68726565|: 1[02]\b/);
    expect(text).toContain('-only its owner may read it on the host: not shown (before)');
    expect(text).toContain('+encrypted: not shown (after)');
    expect(text).toContain('digest: "*** (before)"');
    expect(shown('0640')).toContain('-canary-one');
  });
});
