import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { gzipFixed } from '../../../../bundles/formats/archive/gzip.ts';
import { unpackLayer } from '../../../../bundles/formats/archive/unpack-layer.ts';
import { type RawEntry, rawTar } from './raw-tar.ts';
import { verdict } from './streams.ts';

const limits = { maxBytes: 100_000, maxEntries: 10 };
const unpack = (tar: Uint8Array) => unpackLayer(gzipFixed(tar), limits);
const good: RawEntry[] = [
  { name: './', type: '5' },
  { name: './etc/', type: '5', mode: '0000755\0' },
  { name: './etc/app.conf', content: 'port=80\n', mode: '0000600\0' },
  { name: 'app', prefix: 'opt/bin', content: '#!', mode: '0000755\0' },
];

test('unpackLayer returns files by full path with bytes and mode, and no directories', () => {
  expect(Object.fromEntries(unpack(rawTar(good)))).toEqual({
    'etc/app.conf': { bytes: Buffer.from('port=80\n'), mode: 0o600 },
    'opt/bin/app': { bytes: Buffer.from('#!'), mode: 0o755 },
  });
});

test.each<[string, string, Uint8Array]>([
  ['BAD_NAME', '../', rawTar([{ name: '../x' }])],
  ['BAD_NAME', 'an absolute path', rawTar([{ name: '/x' }])],
  ['BAD_NAME', '../.. in the prefix', rawTar([{ name: 'x', prefix: '../..' }])],
  ['BAD_NAME', 'an absolute prefix', rawTar([{ name: 'x', prefix: '/etc' }])],
  ['BAD_NAME', 'NUL in the prefix', rawTar([{ name: 'x', prefix: 'a\0b' }])],
  ['BAD_NAME', 'a backslash', rawTar([{ name: 'a\\b' }])],
  ['BAD_NAME', 'a terminal escape', rawTar([{ name: 'a\u001b[2J' }])],
  ['BAD_NAME', 'the root as a file', rawTar([{ name: './' }])],
  ['ENTRY_TYPE', 'a symbolic link', rawTar([{ name: 'x', type: '2', linkName: '/etc' }])],
  ['ENTRY_TYPE', 'a hard link', rawTar([{ name: 'x', type: '1', linkName: 'y' }])],
  ['ENTRY_TYPE', 'a device', rawTar([{ name: 'x', type: '3' }])],
  ['ENTRY_TYPE', 'a pax header', rawTar([{ name: 'x', type: 'x', content: '17 path=../evil\n' }])],
  ['ENTRY_TYPE', 'a set-uid file', rawTar([{ name: 'x', mode: '0004755\0' }])],
  ['ENTRY_TYPE', 'a set-gid directory', rawTar([{ name: 'x/', type: '5', mode: '0002755\0' }])],
  ['ENTRY_TYPE', 'a sticky file', rawTar([{ name: 'x', mode: '0001644\0' }])],
  ['DUPLICATE', 'a path twice', rawTar([{ name: 'a/b' }, { name: 'b', prefix: 'a' }])],
  ['DUPLICATE', 'a file that is also a directory', rawTar([{ name: 'a' }, { name: 'a/b' }])],
  ['TAR_SIZE', 'a size in base 256', rawTar([{ name: 'x', size: Buffer.alloc(12, 0xff) }])],
  ['TAR_CHECKSUM', 'a damaged header', rawTar([{ name: 'x', checksum: '000000\0 ' }])],
  ['TRUNCATED', 'a lying size', rawTar([{ name: 'x', size: '77777777777\0', content: 'abc' }])],
  ['TRUNCATED', 'no end marker', rawTar(good, Buffer.alloc(0))],
  ['TRUNCATED', 'half an end marker', rawTar(good, Buffer.alloc(512))],
  ['TRAILING', 'data behind the end', rawTar(good, Buffer.concat([Buffer.alloc(1024), Buffer.from('x')]))],
  [
    'TRAILING',
    'data behind half an end marker',
    rawTar(good, Buffer.concat([Buffer.alloc(512), rawTar(good)])),
  ],
  ['TOO_MANY', '11 entries', rawTar(Array.from({ length: 11 }, (_, index) => ({ name: `f${index}` })))],
  ['BOMB', 'more bytes than allowed', rawTar([{ name: 'x', content: Buffer.alloc(100_000) }])],
])('%s: %s', async (code, _what, tar) => {
  expect(await verdict(() => unpack(tar))).toBe(code);
});

test('TRAILING: data in the padding of an entry', async () => {
  const tar = rawTar([{ name: 'x', content: 'abc' }]);
  tar[600] = 1;
  expect(await verdict(() => unpack(tar))).toBe('TRAILING');
});

test('unpackLayer unpacks or refuses with a code a good layer with bytes changed', async () => {
  const tar = rawTar(good);
  const changes = fc.array(fc.tuple(fc.nat(tar.length - 1), fc.nat(255)), { minLength: 1, maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(changes, fc.nat(tar.length), async (bytes, length) => {
      const changed = Buffer.from(tar);
      for (const [at, byte] of bytes) changed[at] = byte;
      expect(await verdict(() => unpack(changed))).not.toBe('INTERNAL');
      expect(await verdict(() => unpack(tar.subarray(0, length)))).toBe(
        length === tar.length ? 'ACCEPT' : 'TRUNCATED',
      );
    }),
  );
});
