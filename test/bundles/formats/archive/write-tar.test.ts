import { expect, test } from 'vitest';
import { readTar } from '../../../../bundles/formats/archive/read-tar.ts';
import { type TarEntry, writeTar } from '../../../../bundles/formats/archive/write-tar.ts';
import { digestOf } from '../../../../bundles/digest.ts';
import { rawTar } from './raw-tar.ts';
import { collect, readAll, streamOf, verdict } from './streams.ts';

const content = Buffer.from('{"imageLayoutVersion":"1.0.0"}');
const entries = (): TarEntry[] => [
  { path: 'oci-layout', size: content.length, content },
  { path: 'blobs', directory: true },
  { path: 'blobs/tool', size: 1500, mode: 0o100775, content: streamOf(Buffer.alloc(1500, 'x'), [400]) },
  { path: 'blobs/empty', size: 0, mode: 0o600, content: streamOf(Buffer.alloc(0)) },
];

test('writeTar writes a plain ustar archive: no times, no owners, two modes, two zero blocks at the end', async () => {
  expect(await collect(writeTar(entries()))).toEqual(
    rawTar([
      { name: 'oci-layout', content },
      { name: 'blobs/', type: '5', mode: '0000755\0' },
      { name: 'blobs/tool', mode: '0000755\0', content: Buffer.alloc(1500, 'x') },
      { name: 'blobs/empty' },
    ]),
  );
});

test('writeTar writes the same bytes for any chunking and source of the content', async () => {
  const whole = await collect(writeTar([{ path: 'a', size: 1500, content: Buffer.alloc(1500, 'x') }]));
  const slowly = async function* (): AsyncGenerator<TarEntry> {
    yield { path: 'a', size: 1500, content: streamOf(Buffer.alloc(1500, 'x'), [1, 0, 7, 512]) };
  };
  expect(digestOf(await collect(writeTar(slowly())))).toBe(digestOf(whole));
});

test('readTar reads the entries that writeTar wrote', async () => {
  const items = await readAll(writeTar(entries()));
  expect(items.map(({ path, size, directory }) => ({ path, size, directory }))).toEqual([
    { path: 'oci-layout', size: 30, directory: false },
    { path: 'blobs', size: 0, directory: true },
    { path: 'blobs/tool', size: 1500, directory: false },
    { path: 'blobs/empty', size: 0, directory: false },
  ]);
});

test.each<[string, string, TarEntry[]]>([
  ['SIZE_MISMATCH', 'content longer than its size', [{ path: 'a', size: 2, content }]],
  ['SIZE_MISMATCH', 'content shorter than its size', [{ path: 'a', size: 99, content }]],
  [
    'SIZE_MISMATCH',
    'a stream longer than its size',
    [{ path: 'a', size: 29, content: streamOf(content, [10]) }],
  ],
  [
    'SIZE_MISMATCH',
    'a stream shorter than its size',
    [{ path: 'a', size: 31, content: streamOf(content, [10]) }],
  ],
  ['TAR_SIZE', 'a size no header holds', [{ path: 'a', size: 8 ** 11, content }]],
  ['BAD_NAME', 'a name of 101 bytes', [{ path: 'a'.repeat(101), size: 30, content }]],
  [
    'BAD_NAME',
    'a directory name that is too long with its slash',
    [{ path: 'a'.repeat(100), directory: true }],
  ],
  ['BAD_NAME', 'a name the reader refuses', [{ path: 'Index.json', size: 30, content }]],
  ['BAD_NAME', 'a name that leaves the archive', [{ path: 'a/../../b', size: 30, content }]],
  [
    'DUPLICATE',
    'a path twice',
    [
      { path: 'a', size: 30, content },
      { path: 'a', directory: true },
    ],
  ],
])('%s: refuses to write %s', async (code, _what, bad) => {
  expect(await verdict(() => collect(writeTar(bad)))).toBe(code);
});

test('writeTar stops at the announced size when the content is longer', async () => {
  let written = 0;
  const run = async () => {
    for await (const chunk of writeTar([{ path: 'a', size: 25, content: streamOf(content, [10]) }])) {
      written += chunk.length;
    }
  };
  expect(await verdict(run)).toBe('SIZE_MISMATCH');
  expect(written).toBe(512 + 20);
});

test('writeTar reads content only as fast as the archive is consumed', async () => {
  let asked = 0;
  const source = async function* () {
    for (; asked < 1000; asked += 1) yield Buffer.alloc(512);
  };
  for await (const item of readTar(writeTar([{ path: 'a', size: 512_000, content: source() }]), {
    maxEntries: 1,
  })) {
    for await (const chunk of item.content) {
      if (chunk.length > 0) break;
    }
    expect(asked).toBeLessThan(3);
  }
  expect(asked).toBe(1000);
});
