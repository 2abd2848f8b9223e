import { gunzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { type LayerFile, packLayer } from '../../../../bundles/formats/archive/pack-layer.ts';
import { unpackLayer } from '../../../../bundles/formats/archive/unpack-layer.ts';
import { digestOf } from '../../../../bundles/digest.ts';
import { rawTar } from './raw-tar.ts';
import { verdict } from './streams.ts';

const file = (path: string, text = path): LayerFile => ({ path, bytes: Buffer.from(text) });
const limits = { maxBytes: 10_000_000, maxEntries: 1000 };
const segment = fc.stringMatching(/^[a-zA-Z0-9 äß日😀_-]{1,12}$/u);
const layer = fc
  .uniqueArray(
    fc.record({
      path: fc.array(segment, { minLength: 1, maxLength: 4 }).map((parts) => `${parts.join('/')}.f`),
      bytes: fc.uint8Array({ maxLength: 1500 }),
      executable: fc.boolean(),
    }),
    { selector: ({ path }) => path, maxLength: 8 },
  )
  // A name that is a file here and a directory there is refused, and tested below.
  .filter((files) => !files.some((a) => files.some((b) => b.path.startsWith(`${a.path}/`))));

test('packLayer writes a gzipped ustar archive, sorted, with parent directories', () => {
  const packed = packLayer([file('b/x.yaml'), file('b-c'), { ...file('a'), executable: true }]);
  const tar = rawTar([
    { name: 'a', content: 'a', mode: '0000755\0' },
    { name: 'b/', type: '5', mode: '0000755\0' },
    { name: 'b-c', content: 'b-c' },
    { name: 'b/x.yaml', content: 'b/x.yaml' },
  ]);
  expect(gunzipSync(packed.bytes)).toEqual(tar);
  expect(packed).toMatchObject({
    digest: digestOf(packed.bytes),
    size: packed.bytes.length,
    diffId: digestOf(tar),
    uncompressedSize: tar.length,
  });
});

test("packLayer makes a tar with the digest that Python's tarfile module gives the same files", () => {
  // The tar's digest only: the gzip's depends on the zlib that Node was built with.
  expect(
    packLayer([file('kustomization.yaml', 'resources: []\n'), file('app/deployment.yaml', 'kind: x\n')])
      .diffId,
  ).toBe('sha256:76582f3cf9671be23d532ba96f5bcc84adcad6c353c605fba08a59766b40243c');
});

test('packLayer keeps bytes and mode, and its result does not depend on the order of the files', () => {
  const shuffled = layer.chain((files) =>
    fc.tuple(fc.constant(files), fc.shuffledSubarray(files, { minLength: files.length })),
  );
  fc.assert(
    fc.property(shuffled, ([files, other]) => {
      const packed = packLayer(files);
      expect(packLayer(other)).toEqual(packed);
      const want = files.map(({ path, bytes, executable }) => [
        path,
        Buffer.from(bytes),
        executable ? 0o755 : 0o644,
      ]);
      const got = [...unpackLayer(packed.bytes, limits)].map(([path, { bytes, mode }]) => [
        path,
        bytes,
        mode,
      ]);
      expect(new Map(got.map((row) => [row[0], row]))).toEqual(new Map(want.map((row) => [row[0], row])));
    }),
  );
});

test('packLayer sorts bytewise, also above U+FFFF', () => {
  const paths = [
    ...unpackLayer(packLayer([file('😀'), file('\uffee'), file('Z'), file('a')]).bytes, limits).keys(),
  ];
  expect(paths).toEqual(['Z', 'a', '\uffee', '😀']);
});

test('packLayer of no files makes an empty layer', () => {
  const packed = packLayer([]);
  expect(packed.uncompressedSize).toBe(1024);
  expect(unpackLayer(packed.bytes, limits).size).toBe(0);
});

const long = [
  `${'a'.repeat(90)}/${'b'.repeat(65)}/${'c'.repeat(30)}`,
  `${'d'.repeat(60)}/${'e'.repeat(93)}/${'f'.repeat(100)}`,
  `${'g'.repeat(99)}/h`,
  `${'i/'.repeat(127)}j`,
];

test('packLayer and unpackLayer keep paths up to 255 bytes, for any position of the slashes', () => {
  expect(long.map((path) => path.length)).toEqual([187, 255, 101, 255]);
  const packed = packLayer(long.map((path) => file(path)));
  expect([...unpackLayer(packed.bytes, limits).keys()]).toEqual(long);
});

test.each([
  ['DUPLICATE', 'a path twice', ['a', 'a']],
  ['DUPLICATE', 'a path that is a file and a directory', ['a/b', 'a']],
  ['BAD_NAME', 'a path that leaves the directory', ['../a']],
  ['BAD_NAME', 'an absolute path', ['/a']],
  ['BAD_NAME', 'a . component', ['./a']],
  ['BAD_NAME', 'an empty path', ['']],
  ['BAD_NAME', 'a directory path', ['a/']],
  ['BAD_NAME', 'a backslash', ['a\\b']],
  ['BAD_NAME', 'a line break', ['a\nb']],
  ['BAD_NAME', 'a NUL', ['a\0b']],
  ['BAD_NAME', 'half a surrogate pair', ['a\ud800']],
  ['BAD_NAME', 'a path of 256 bytes', [`${'a/'.repeat(127)}bb`]],
  ['BAD_NAME', 'a file name of 101 bytes, which ustar cannot hold', [`a/${'b'.repeat(101)}`]],
])('%s: refuses to pack %s', async (code, _what, paths) => {
  expect(await verdict(() => packLayer(paths.map((path) => file(path))))).toBe(code);
});
