import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseManifests } from '../../../bundles/formats/bundle/parse-manifests.ts';
import { openManifests } from '../../../agent/secrets/open-manifests.ts';
import { openBinary } from '../../../agent/secrets/sops-binary.ts';

/** Written by SOPS 3.13.3; the identity was made for nothing else. More of it: test/integration/secrets/secrets-sops.test.ts. */
const read = (name: string): string => readFileSync(join(import.meta.dirname, 'sops', name), 'utf8');
const identity = read('identity.txt').trim();
const encrypted = read('secret.yaml.txt');
const binary = read('binary.txt');

const open = async (text: string, by: () => Promise<string> = async () => identity) => {
  const opened = await openManifests(new Map([['a.yaml', Buffer.from(text)]]), 'shop', by);
  return parseManifests(opened.files).map(({ value }) => value);
};

describe('a document that SOPS encrypted', () => {
  it('is decrypted with the type of every value, without its sops block, in its namespace', async () => {
    expect(await open(encrypted)).toEqual([
      {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'db', labels: { '2': 'two', a: 'one' }, namespace: 'shop' },
        immutable: false,
        stringData: { user: 'admin', password: 'hush', empty: '' },
        values: [42, 1.5, true, null],
      },
    ]);
  });

  it.each([
    ['a value that is gone', /^ +user: .*\n/m, ''],
    ['a value that is plain', /user: ENC.*/, 'user: root'],
    ['an empty value that is not', 'empty: ""', 'empty: x'],
    ['values in another order', /(- ENC.*int\])\n +(- ENC.*float\])/, '$2\n    $1'],
    ['a key by another name', 'password:', 'passwort:'],
    ['several groups of keys', 'sops:\n', 'sops:\n    key_groups: [{age: []}, {age: []}]\n'],
    ['no time', /^ +lastmodified.*\n/m, ''],
    ['no recipient', /^ +- enc: \|\n/m, '        - other: |\n'],
    ['an alias', /values:\n/, 'again: [&x y, *x]\nvalues:\n'],
  ])('is refused with %s', async (_what, from, to) => {
    const text = encrypted.replace(from, to);
    expect(text).not.toBe(encrypted);
    await expect(open(text)).rejects.toMatchObject({
      code: 'SECRET_UNREADABLE',
      message: expect.stringContaining('a.yaml cannot be decrypted'),
    });
  });

  it('is passed on unchanged when it is not encrypted, without asking for an identity', async () => {
    const never = () => Promise.reject(new Error('nobody should ask'));
    const plain = 'kind: ConfigMap\ndata: {sops: "ENC[AES256_GCM,x]"}\n';
    expect(await open(plain, never)).toEqual([{ kind: 'ConfigMap', data: { sops: 'ENC[AES256_GCM,x]' } }]);
    const broken = 'sops: {mac: "ENC["\n';
    await expect(open(broken, never)).rejects.toMatchObject({ code: 'YAML_SYNTAX' });
    const bomb = ['a: &a [x, x, x, x, x, x, x, x, x, x, x]'];
    for (const [one, next] of ['ab', 'bc', 'cd', 'de'].map(([...pair]) => pair))
      bomb.push(`${next}: &${next} [${Array.from({ length: 11 }, () => `*${one}`).join(', ')}]`);
    const laden = `${bomb.join('\n')}\nsops: {mac: "ENC[AES256_GCM]"}\n`;
    await expect(open(laden, never)).rejects.toMatchObject({ code: 'YAML_SYNTAX' });
  });
});

describe('a file in SOPS’ binary form', () => {
  it('is decrypted to its bytes', async () => {
    expect((await openBinary(Buffer.from(binary), identity)).toString()).toBe('bin\0ary');
  });

  it.each([
    ['other data', /"data": "[^"]*"/, '"data": ""'],
    ['plain data', /"data": "[^"]*"/, '"data": "plain"'],
    ['no sops block', '"sops"', '"pops"'],
    ['half of it', /\}\s*$/, ''],
  ])('is refused with %s', async (_what, from, to) => {
    const refused = openBinary(Buffer.from(binary.replace(from, to)), identity);
    await expect(refused).rejects.toMatchObject({ code: 'SECRET_UNREADABLE' });
  });
});
