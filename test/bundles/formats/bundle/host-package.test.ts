import { describe, expect, it } from 'vitest';
import { type HostPackage, isSafeHostPath, parseHostPackage } from '#bundles/formats/bundle/host-package';
import { packageDigest } from '#bundles/formats/bundle/package-digest';
import { digestOf } from '#bundles/digest';
import { refusal } from '../../refusal.ts';

const owned = { mode: '0640', owner: 'root', group: 'plc' };
const file = {
  path: '/etc/gateway.env',
  ...owned,
  content: 'files/gateway.env',
  digest: digestOf('a'),
  size: 1,
};
const good: HostPackage = {
  id: 'gateway',
  directories: [{ path: '/etc/gateway.d', ...owned }],
  files: [file],
  units: [{ name: 'gateway@1.service', enabled: true, active: true, restartOn: ['/etc/gateway.env'] }],
  checks: [{ type: 'unit', name: 'up', unit: 'gateway@1.service', stableSeconds: 10 }],
  critical: [],
};
const refusalOf = (change: object) =>
  refusal(() => parseHostPackage(Buffer.from(JSON.stringify({ ...good, ...change }))));

describe('a host package', () => {
  it('is parsed to the values that were written', () => {
    expect(parseHostPackage(Buffer.from(JSON.stringify(good)))).toEqual(good);
  });

  it.each(['/etc/../root', '/etc/./a', '/etc//a', '/etc/', '/', '/a\0b', '/..'])(
    'is refused with a file or folder at %j',
    (path) => {
      expect(isSafeHostPath(path)).toBe(false);
      expect(refusalOf({ files: [{ ...file, path }] })).toBe('BAD_NAME');
      expect(refusalOf({ directories: [{ ...owned, path }] })).toBe('BAD_NAME');
    },
  );

  it.each(['/etc/a', '/opt/ä b/c', '/a.b/..c', '/x'])('is accepted with a file at %j', (path) => {
    expect(refusalOf({ files: [{ ...file, path }] })).toBeUndefined();
  });

  it.each(['../other/secret', 'a/../../b', '/etc/shadow', '', 'a/'])(
    'is refused with content at %j in its layer',
    (content) => {
      expect(refusalOf({ files: [{ ...file, content }] })).toBe('BAD_NAME');
    },
  );

  it.each([
    ['a relative path', { files: [{ ...file, path: 'etc/a' }] }],
    ['a set-id mode', { files: [{ ...file, mode: '4755' }] }],
    ['a mode that is a number', { files: [{ ...file, mode: 640 }] }],
    ['a unit that is an option', { units: [{ ...good.units[0], name: '--now' }] }],
    ['a unit with a path', { units: [{ ...good.units[0], name: '../x.service' }] }],
    ['a check without a command', { checks: [{ type: 'exec', name: 'x', argv: [], timeoutSeconds: 1 }] }],
    [
      'a check of a file',
      { checks: [{ type: 'http', name: 'x', url: 'file:///etc/passwd', status: 200, timeoutSeconds: 1 }] },
    ],
    ['a check that nobody knows', { checks: [{ type: 'song', name: 'x' }] }],
  ])('is refused as SCHEMA with %s', (_what, change) => {
    expect(refusalOf(change)).toBe('SCHEMA');
  });
});

describe('the install section of a host package', () => {
  const deb = { name: 'mosquitto', version: '2.0.11-1.2' };
  const install = {
    repository: '/var/lib/fleet-ferry/apt/gateway',
    packages: [deb],
    conffiles: 'keep',
    onRemoval: 'remove',
    services: 'start',
  };
  const judged = (change: object) => refusalOf({ install: { ...install, ...change }, critical: ['debs'] });

  it('is accepted as the scheduler writes it, and with fields of a later version', () => {
    expect(judged({})).toBeUndefined();
    expect(judged({ packages: [{ ...deb, hold: true, later: 1 }], later: 1 })).toBeUndefined();
  });

  it.each([
    ['no repository', { repository: undefined }],
    ['no packages', { packages: [] }],
    ['a package that is an option of apt', { packages: [{ ...deb, name: '--purge' }] }],
    ['a package with its version in the name', { packages: [{ ...deb, name: 'mosquitto=2' }] }],
    ['a version with a space', { packages: [{ ...deb, version: '2 -y' }] }],
    ['a hold that is a word', { packages: [{ ...deb, hold: 'yes' }] }],
    ['a policy that nobody knows', { conffiles: 'ask' }],
    [
      'an answer of two lines',
      { debconf: [{ package: 'a1', question: 'a/b', type: 'string', value: '1\n2' }] },
    ],
    ['a hook without a limit', { hooks: [{ package: 'mosquitto', before: '/opt/dump' }] }],
    ['a relative hook', { hooks: [{ package: 'mosquitto', before: 'dump', timeoutSeconds: 1 }] }],
  ])('is refused as SCHEMA with %s', (_what, change) => {
    expect(judged(change)).toBe('SCHEMA');
  });

  it('is refused with a path outside its folders', () => {
    expect(judged({ repository: '/srv/../etc' })).toBe('BAD_NAME');
    expect(judged({ hooks: [{ package: 'mosquitto', after: '/opt/../bin/sh', timeoutSeconds: 1 }] })).toBe(
      'BAD_NAME',
    );
  });
});

describe('a file of a host package', () => {
  const { content, ...rest } = file;

  it('has its bytes either in the layer or in the closure; both or neither is refused', () => {
    expect(refusalOf({ files: [{ ...rest, blob: true }], critical: ['blobs'] })).toBeUndefined();
    for (const other of [{ ...rest, content, blob: true }, rest, { ...rest, blob: false }])
      expect(refusalOf({ files: [other] })).toBe('SCHEMA');
  });
});

describe('the digest of a package', () => {
  const files = [
    { path: 'b', bytes: Buffer.from('1') },
    { path: 'a/\u{1F600}', bytes: Buffer.from('2') },
    { path: 'a/\uFB03', bytes: Buffer.from('3') },
  ];

  it('is the digest of its file list, sorted bytewise', () => {
    const line = (path: string, content: string) =>
      `{"digest":"${digestOf(content)}","path":"${path}","size":1}`;
    const list = `[${line('a/\uFB03', '3')},${line('a/\u{1F600}', '2')},${line('b', '1')}]`;
    expect(packageDigest(files)).toBe(digestOf(list));
    expect(packageDigest(files.toReversed())).toBe(digestOf(list));
    expect(packageDigest([])).toBe(digestOf('[]'));
  });

  it("changes with a file's name or content, or when a file is missing", () => {
    const [first, ...rest] = files as [(typeof files)[0]];
    const others = [
      [...rest, { ...first, path: 'c' }],
      [...rest, { ...first, bytes: Buffer.from('x') }],
      rest,
    ];
    const digests = [files, ...others].map(packageDigest);
    expect(new Set(digests).size).toBe(4);
  });
});
