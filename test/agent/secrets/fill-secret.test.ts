import { describe, expect, it } from 'vitest';
import { digestOf } from '#bundles/digest';
import { readManifests, toWanted } from '../../../agent/apply/kubernetes/desired/read-wanted.ts';
import { packageId } from '../../../agent/apply/kubernetes/owned-state.ts';
import type { DesiredPackage } from '../../../agent/model/target.ts';
import { keyedHash } from '../../../agent/secrets/open-package.ts';
import type { PackageSecrets } from '../../../agent/model/package-secrets.ts';
import { setsUsed } from '../../../agent/secrets/sets-used.ts';
import { verdict } from '../../bundles/verdict.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');

const secretsOf = (values: Readonly<Record<string, string>>, sealed = 'one'): PackageSecrets => ({
  sealed: [{ name: 'db', digest: digestOf(sealed) }],
  sets: new Map([['db', { fleet: 'halden', site: 'plant-7', name: 'db', version: 1, values }]]),
  decrypted: new Set(),
  hash: keyedHash('AGE-SECRET-KEY-1TEST'),
});

const SET = { password: base64('hush'), user: base64('admin') };

const packageWith = (yaml: string, secrets?: PackageSecrets): DesiredPackage => ({
  assignment: 'shop',
  package: digestOf(yaml),
  siteValues: digestOf(''),
  files: new Map([['a.yaml', Buffer.from(yaml)]]),
  siteInputs: [],
  ...(secrets && { secrets }),
});
const secret = (annotations: string, more = ''): string =>
  `apiVersion: v1\nkind: Secret\nmetadata: {name: db, namespace: shop, annotations: {${annotations}}}\n${more}`;
const wanted = (yaml: string, secrets?: PackageSecrets) =>
  toWanted(readManifests(packageWith(yaml, secrets)), () => 'Namespaced', {
    fleet: 'halden',
    assignment: 'shop',
  });
const dataOf = (annotations: string): unknown =>
  wanted(secret(annotations), secretsOf(SET))[0]?.object['data'];

describe('a Secret that names a sealed set', () => {
  it('has every key of the set, or those that are named, under the given names', () => {
    expect(dataOf('fleet-ferry/secret-set: db')).toEqual(SET);
    expect(dataOf('fleet-ferry/secret-set: db, fleet-ferry/secret-keys: password')).toEqual({
      password: SET.password,
    });
    expect(dataOf('fleet-ferry/secret-set: db, fleet-ferry/secret-keys: "a=user, b = password"')).toEqual({
      a: SET.user,
      b: SET.password,
    });
  });

  it('is remembered by a keyed hash that changes with a value and with the identity', () => {
    const hashOf = (secrets: PackageSecrets) =>
      wanted(secret('fleet-ferry/secret-set: db'), secrets)[0]?.hash ?? '';
    const hash = hashOf(secretsOf(SET));
    expect(hash).toMatch(/^hmac-sha256:[0-9a-f]{64}$/);
    expect(hashOf(secretsOf(SET, 'sealed again'))).toBe(hash);
    expect(hashOf(secretsOf({ ...SET, user: base64('root') }))).not.toBe(hash);
    expect(hashOf({ ...secretsOf(SET), hash: keyedHash('AGE-SECRET-KEY-1OTHER') })).not.toBe(hash);
    const [plain] = wanted(`${secret('a: b')}data: {a: YQ==}\n`, secretsOf(SET));
    expect(plain?.hash).toMatch(/^[0-9a-f]{64}$/);
  });

  it('changes the package id when the sealed file changes', () => {
    const idOf = (secrets?: PackageSecrets) => packageId(packageWith('a: b', secrets));
    expect(idOf(secretsOf(SET))).not.toBe(idOf());
    expect(idOf(secretsOf(SET, 'two'))).not.toBe(idOf(secretsOf(SET)));
  });

  const set = 'fleet-ferry/secret-set: db';
  it.each([
    ['another set', secret('fleet-ferry/secret-set: web'), 'SECRET_MISSING'],
    ['a key that the set lacks', secret(`${set}, fleet-ferry/secret-keys: nothing`), 'SECRET_MISSING'],
    ['a key of every object', secret(`${set}, fleet-ferry/secret-keys: constructor`), 'SECRET_MISSING'],
    ['no keys', secret(`${set}, fleet-ferry/secret-keys: ""`), 'OBJECT_INVALID'],
    ['a part and a half', secret(`${set}, fleet-ferry/secret-keys: a=user=user`), 'OBJECT_INVALID'],
    ['half a part', secret(`${set}, fleet-ferry/secret-keys: a=`), 'OBJECT_INVALID'],
    ['data of its own', secret(set, 'data: {}\n'), 'OBJECT_INVALID'],
    ['text of its own', secret(set, 'stringData: {a: b}\n'), 'OBJECT_INVALID'],
    ['another kind', secret(set).replace('kind: Secret', 'kind: ConfigMap'), 'OBJECT_INVALID'],
    ['a number for a name', secret('fleet-ferry/secret-set: 7'), 'OBJECT_INVALID'],
  ])('is refused with %s', async (_what, yaml, code) => {
    expect(await verdict(async () => wanted(yaml, secretsOf(SET)))).toBe(code);
  });

  it('is refused as SECRET_MISSING when no set was opened', async () => {
    expect(await verdict(async () => wanted(secret(set)))).toBe('SECRET_MISSING');
  });
});

describe('the sets that a package uses', () => {
  const used = (yaml: string) => setsUsed('kubernetes', new Map([['a.yaml', Buffer.from(yaml)]]));

  it('are those that its Secrets name, in any YAML style', () => {
    const flow = secret('fleet-ferry/secret-set: web');
    const block = 'kind: Secret\nmetadata:\n  annotations:\n    "fleet-ferry/secret-set": "db"\n';
    const list = 'kind: List\nitems:\n  - {metadata: {annotations: {fleet-ferry/secret-set: inner}}}\n';
    expect(used([flow, block, list, flow].join('---\n'))).toEqual(['db', 'inner', 'web']);
    expect(used('kind: ConfigMap\ndata: {a: secret-set}\n')).toEqual([]);
  });

  it('are all sets when the package cannot be parsed', () => {
    expect(used('a: [fleet-ferry/secret-set\n')).toBe('all');
    expect(setsUsed('host', new Map([['package.json', Buffer.from('{"secrets":')]]))).toBe('all');
    expect(setsUsed('host', new Map())).toEqual([]);
  });
});
