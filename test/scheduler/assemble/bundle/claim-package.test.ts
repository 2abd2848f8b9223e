import { describe, expect, test } from 'vitest';
import type { AssembledPackage } from '../../../../scheduler/assemble/bundle/assembled-package.ts';
import {
  type Before,
  type Claimant,
  refuseConflictingClaims,
} from '../../../../scheduler/assemble/bundle/claim-package.ts';
import { target } from '../../model-objects.ts';

type Wants = {
  readonly owns?: readonly string[];
  readonly schema?: { readonly [key: string]: string };
  readonly registration?: string | undefined;
  readonly workspace?: string;
};

const made = (id: string, { owns = [], schema, registration = `reg-${id}`, workspace = id }: Wants) =>
  ({
    id,
    owns,
    siteInputs: schema ? [{ input: 'line', file: '/a', pointer: '/A', schema }] : [],
    assignment: {
      target: target(`${id}/x`, {
        workspace,
        ...(registration === '' ? {} : { registration }),
        at: { file: `${id}.yaml` },
      }),
    },
  }) as unknown as AssembledPackage;

/** The ids that are refused, each with its message. */
const refused = async (
  packages: readonly (AssembledPackage | Claimant)[],
  past: Readonly<Record<string, AssembledPackage>> = {},
): Promise<Readonly<Record<string, string>>> => {
  const before: Before = async ({ id }) => past[id];
  const claimants = packages.map((one) => ('made' in one ? one : { made: one, kept: false }));
  const errors = await refuseConflictingClaims(claimants, before);
  for (const { code } of errors.values()) expect(code).toBe('OBJECT_CLASH');
  return Object.fromEntries([...errors].map(([{ id }, error]) => [id, error.message]));
};

describe('a path or unit that packages of one bundle claim', () => {
  test('has one owner; a package that is refused for it claims nothing else', async () => {
    const a = made('a', { owns: ['/etc/x', 'a.service'] });
    const b = made('b', { owns: ['/etc/y', '/etc/x'] });
    expect(await refused([a, b, made('d', { owns: ['/etc/z'] })])).toEqual({
      b: 'b brings /etc/x, which belongs to reg-a of workspace a',
    });
  });

  test('is the same under two spellings that are one file on every host', async () => {
    const a = made('a', { owns: ['/lib/systemd/system/x.service', '/var/run/y'] });
    const b = made('b', { owns: ['/usr/lib/systemd/system/x.service'] });
    const c = made('c', { owns: ['/run/y'] });
    const d = made('d', { owns: ['/library/x', '/var/running/y'] });
    expect(await refused([a, b, c, d])).toEqual({
      b: 'b brings /usr/lib/systemd/system/x.service, and /lib/systemd/system/x.service belongs to reg-a of workspace a; they are one file on every host: /usr/lib/systemd/system/x.service',
      c: expect.stringContaining('one file on every host: /run/y'),
    });
  });

  test('is an object, not its namespace: packages may share a namespace, not an object', async () => {
    const packages = ['Service shop/web', 'Service shop/api', 'Service shop/web'];
    const found = await refused(packages.map((name, at) => made(`p${at}`, { owns: [name] })));
    expect(Object.keys(found)).toEqual(['p2']);
  });

  test('is reported by package name when both packages are of one registration', async () => {
    const shared = { owns: ['/etc/x'], registration: 'shop', workspace: 'sales' };
    expect(await refused([made('b', shared), made('a', shared)])).toEqual({
      b: 'b brings /etc/x, which belongs to a',
    });
  });
});

describe('a name that two packages claim belongs', () => {
  const newcomer = made('aaa', { owns: ['/etc/x'], registration: 'aaa' });
  const owner = made('zzz', { owns: ['/etc/x'], registration: 'zzz' });

  test.for([[[newcomer, owner]], [[owner, newcomer]]])(
    'N44: to the package that had it in the last release, whatever the names -> OBJECT_CLASH',
    async ([packages]) => {
      expect(Object.keys(await refused(packages ?? [], { zzz: owner }))).toEqual(['aaa']);
    },
  );

  test('N44: to a held package that is kept from there -> OBJECT_CLASH', async () => {
    expect(Object.keys(await refused([newcomer, { made: owner, kept: true }]))).toEqual(['aaa']);
  });

  test("N44: else to the platform's own -> OBJECT_CLASH", async () => {
    const platform = made('zzz', { owns: ['/etc/x'], registration: '', workspace: '' });
    expect(await refused([newcomer, platform])).toEqual({
      aaa: 'aaa brings /etc/x, which belongs to the platform (zzz)',
    });
  });

  test('N44: else to the registration that is first by name, not to the first workload -> OBJECT_CLASH', async () => {
    const first = made('workload-z', { owns: ['/etc/x'], registration: 'a-registration' });
    const second = made('workload-a', { owns: ['/etc/x'], registration: 'b-registration' });
    expect(Object.keys(await refused([first, second]))).toEqual(['workload-a']);
  });
});

describe('a site input that packages declare', () => {
  const integer = { type: 'integer' };
  const text = { type: 'string' };

  test('must have the same schema in all packages', async () => {
    const packages = [made('a', { schema: integer }), made('b', { schema: integer })];
    expect(await refused(packages)).toEqual({});
    expect(await refused([...packages, made('c', { schema: text })])).toEqual({
      c: 'c gives the site input line another schema than reg-a of workspace a, to which it belongs',
    });
  });

  test('N44: keeps the schema of the last release, whatever the names -> OBJECT_CLASH', async () => {
    const [newcomer, owner] = [made('a', { schema: text }), made('z', { schema: integer })];
    expect(Object.keys(await refused([newcomer, owner], { z: owner }))).toEqual(['a']);
  });

  test('may change its schema when one workspace alone reads it', async () => {
    const [old, now] = [made('z', { schema: integer }), made('z', { schema: text })];
    expect(await refused([now], { z: old })).toEqual({});
  });
});
