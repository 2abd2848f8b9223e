import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { readTar } from '../../../../bundles/formats/archive/read-tar.ts';
import { writeTar } from '../../../../bundles/formats/archive/write-tar.ts';
import { type RawEntry, rawHeader, rawTar } from './raw-tar.ts';
import { collect, readAll, streamOf, verdict } from './streams.ts';
import { runs } from '../../../harness/run/long.ts';

const blob = `blobs/sha256/${'a'.repeat(64)}`;
const good: RawEntry[] = [
  { name: 'oci-layout', content: '{"imageLayoutVersion":"1.0.0"}' },
  { name: 'blobs/', type: '5', mode: '0000755\0' },
  { name: blob, content: 'x'.repeat(700) },
  { name: 'empty' },
];
const read = (tar: Uint8Array, sizes?: number[]) => readAll(streamOf(tar, sizes));
const judge = (tar: Uint8Array) => verdict(() => read(tar));

test('readTar returns path, size, kind, content and offset of each entry', async () => {
  const tar = rawTar(good);
  const items = await read(tar);
  expect(items.map(({ path, size, directory }) => [path, size, directory])).toEqual([
    ['oci-layout', 30, false],
    ['blobs', 0, true],
    [blob, 700, false],
    ['empty', 0, false],
  ]);
  for (const { offset, size, content } of items) {
    expect(tar.toString('latin1', offset, offset + size)).toBe(content);
  }
  expect(items[2]?.content).toBe('x'.repeat(700));
});

describe('the attack table of the security design, T rows', () => {
  test('ACCEPT: a good archive', async () => {
    expect(await judge(rawTar(good))).toBe('ACCEPT');
  });

  test('ACCEPT: names with ./ in front, as GNU tar writes a folder', async () => {
    const tar = rawTar([{ name: './', type: '5' }, { name: './blobs/', type: '5' }, { name: './blobs/x' }]);
    expect((await read(tar)).map(({ path }) => path)).toEqual(['blobs', 'blobs/x']);
  });

  const cases: [string, string, Uint8Array][] = [
    ['BAD_NAME', '../ in front', rawTar([{ name: '../etc/passwd' }])],
    ['BAD_NAME', '../ in the middle', rawTar([{ name: 'blobs/../../x' }])],
    ['BAD_NAME', 'an absolute name', rawTar([{ name: '/etc/passwd' }])],
    ['BAD_NAME', 'ustar prefix ../..', rawTar([{ name: 'x', prefix: '../..' }])],
    ['BAD_NAME', 'any ustar prefix', rawTar([{ name: 'x', prefix: 'blobs' }])],
    ['BAD_NAME', 'a backslash', rawTar([{ name: '..\\x' }])],
    ['BAD_NAME', 'NUL in a name', rawTar([{ name: 'index.json\0.exe' }])],
    ['BAD_NAME', 'a capital letter', rawTar([{ name: 'Index.json' }])],
    ['BAD_NAME', 'an empty name', rawTar([{ name: '' }])],
    ['BAD_NAME', 'an empty component', rawTar([{ name: 'blobs//x' }])],
    ['BAD_NAME', 'a . component', rawTar([{ name: 'blobs/./x' }])],
    ['BAD_NAME', 'a file whose name ends in a slash', rawTar([{ name: 'blobs/' }])],
    ['ENTRY_TYPE', 'a symbolic link', rawTar([{ name: 'x', type: '2', linkName: '/etc' }])],
    ['ENTRY_TYPE', 'a hard link', rawTar([{ name: 'x', type: '1', linkName: 'oci-layout' }])],
    ['ENTRY_TYPE', 'a character device', rawTar([{ name: 'x', type: '3' }])],
    ['ENTRY_TYPE', 'a block device', rawTar([{ name: 'x', type: '4' }])],
    ['ENTRY_TYPE', 'a FIFO', rawTar([{ name: 'x', type: '6' }])],
    ['ENTRY_TYPE', 'a pax path override', rawTar([{ name: 'x', type: 'x', content: '17 path=../evil\n' }])],
    ['ENTRY_TYPE', 'a global pax header', rawTar([{ name: 'x', type: 'g', content: '17 path=../evil\n' }])],
    ['ENTRY_TYPE', 'a GNU long name', rawTar([{ name: '././@LongLink', type: 'L', content: '../evil\0' }])],
    ['ENTRY_TYPE', 'a GNU sparse file', rawTar([{ name: 'x', type: 'S', magic: 'ustar  \0' }])],
    ['ENTRY_TYPE', 'an old-style entry', rawTar([{ name: 'x', type: '\0' }])],
    ['DUPLICATE', 'the same blob twice', rawTar([{ name: blob }, { name: blob }])],
    ['DUPLICATE', 'a second ./index.json', rawTar([{ name: 'index.json' }, { name: './index.json' }])],
    [
      'DUPLICATE',
      'a directory twice',
      rawTar([
        { name: 'a/', type: '5' },
        { name: 'a', type: '5' },
      ]),
    ],
    ['DUPLICATE', 'a file that is also a directory', rawTar([{ name: 'a' }, { name: 'a/b' }])],
    ['DUPLICATE', 'a directory that is also a file', rawTar([{ name: 'a/b/c' }, { name: 'a' }])],
    ['TRUNCATED', 'a lying size', rawTar([{ name: 'x', size: '00077777777\0', content: 'abc' }])],
    ['TRUNCATED', 'a file cut in its content', rawTar(good).subarray(0, 2100)],
    ['TRUNCATED', 'a file cut in a header', rawTar(good).subarray(0, 1100)],
    ['TRUNCATED', 'a file cut between entries', rawTar(good, Buffer.alloc(0))],
    ['TRUNCATED', 'a file cut in its padding', rawTar([{ name: 'x', content: 'abc' }]).subarray(0, 600)],
    ['TRUNCATED', 'a file cut in its end marker', rawTar(good, Buffer.alloc(512))],
    ['TRUNCATED', 'an empty file', Buffer.alloc(0)],
    ['TAR_SIZE', 'a negative size', rawTar([{ name: 'x', size: '-0000000001\0' }])],
    ['TAR_SIZE', 'a negative size in base 256', rawTar([{ name: 'x', size: Buffer.alloc(12, 0xff) }])],
    [
      'TAR_SIZE',
      'a size over 2^53 in base 256',
      rawTar([{ name: 'x', size: Buffer.from('800000000020000000000000', 'hex') }]),
    ],
    ['TAR_CHECKSUM', 'a header changed afterwards', rawTar([{ name: 'x', checksum: '000000\0 ' }])],
    [
      'TRAILING',
      'data behind the end',
      rawTar(good, Buffer.concat([Buffer.alloc(1024), Buffer.from('evil')])),
    ],
    [
      'TRAILING',
      'a second archive behind the end',
      Buffer.concat([rawTar(good), rawTar([{ name: 'index.json' }])]),
    ],
    [
      'TRAILING',
      'an entry behind half an end marker',
      Buffer.concat([Buffer.alloc(512), rawTar([{ name: 'index.json' }])]),
    ],
    [
      'TRAILING',
      'data in the padding',
      Buffer.concat([rawHeader({ name: 'x', content: 'abc' }), Buffer.alloc(512, 1)]),
    ],
    ['TRAILING', 'zeros without end', rawTar(good, Buffer.alloc(3 * 1024 * 1024))],
    ['TOO_MANY', '101 entries', rawTar(Array.from({ length: 101 }, (_, index) => ({ name: `f${index}` })))],
  ];
  test.each(cases)('%s: %s', async (code, _what, tar) => {
    expect(await judge(tar)).toBe(code);
  });

  test('TRUNCATED: an entry whose size exceeds the archive, although the caller skips its content', async () => {
    const tar = rawTar([{ name: 'x', size: '77777777777\0', content: 'abc' }]);
    const skim = async () => {
      for await (const item of readTar(streamOf(tar), { maxEntries: 9 })) expect(item.path).toBe('x');
    };
    expect(await verdict(skim)).toBe('TRUNCATED');
    await expect(skim()).rejects.toMatchObject({
      subject: '"x"',
      message: 'the archive ends 8589933055 bytes before the entry does',
    });
  });

  test('ACCEPT: exactly as many entries as allowed, and the zeros GNU tar adds', async () => {
    const tar = rawTar(good, Buffer.alloc(10_240));
    expect(await verdict(() => readAll(streamOf(tar), { maxEntries: good.length }))).toBe('ACCEPT');
    expect(await verdict(() => readAll(streamOf(tar), { maxEntries: good.length - 1 }))).toBe('TOO_MANY');
  });
});

test("readTar accepts names that match the caller's pattern as a whole, for any flags of the pattern", async () => {
  const tar = rawTar([{ name: 'Ab' }, { name: 'AB' }]);
  const names = async (namePattern: RegExp) =>
    (await readAll(streamOf(tar), { maxEntries: 9, namePattern })).length;
  expect(await names(/^[A-Za-z]+$/g)).toBe(2);
  expect(await verdict(() => names(/[A-Z]/))).toBe('BAD_NAME');
});

test.each(['../A', 'A/../B', '/A', 'A\\B', 'A//B', 'A/.'])(
  'readTar refuses %s for any name pattern of the caller',
  async (name) => {
    const limits = { maxEntries: 9, namePattern: /^.*$/ };
    expect(await verdict(() => readAll(streamOf(rawTar([{ name }])), limits))).toBe('BAD_NAME');
  },
);

test('readTar skips content that the caller leaves unread', async () => {
  const firsts: string[] = [];
  for await (const { path, content } of readTar(streamOf(rawTar(good), [100]), { maxEntries: 9 })) {
    if (path === 'oci-layout') continue;
    for await (const chunk of content) {
      firsts.push(`${path} ${chunk.length}`);
      break;
    }
  }
  expect(firsts).toHaveLength(1);
  expect(firsts[0]).toMatch(new RegExp(`^${blob} \\d+$`));
});

test('content read after the next item was requested is an error, never the bytes of another entry', async () => {
  const items = readTar(streamOf(rawTar(good), [100]), { maxEntries: 9 });
  const first = (await items.next()).value;
  await items.next();
  expect(await verdict(() => collect(first.content))).toBe('INTERNAL');
});

test('INTERNAL: content and the next item requested at the same time', async () => {
  const items = readTar(streamOf(rawTar(good), [100]), { maxEntries: 9 });
  const first = (await items.next()).value;
  const [, next] = await Promise.allSettled([collect(first.content), items.next()]);
  expect(await verdict(() => (next.status === 'rejected' ? Promise.reject(next.reason) : next))).toBe(
    'INTERNAL',
  );
});

test('readTar closes its source when the caller stops early', async () => {
  let closed = false;
  const source = async function* () {
    try {
      yield* streamOf(rawTar(good), [512]);
    } finally {
      closed = true;
    }
  };
  for await (const item of readTar(source(), { maxEntries: 9 })) {
    expect(item.path).toBe('oci-layout');
    break;
  }
  expect(closed).toBe(true);
});

test('readTar passes on an error of its source unchanged', async () => {
  const source = async function* () {
    yield rawTar(good).subarray(0, 1000);
    throw new Error('EIO: the stick was pulled');
  };
  await expect(readAll(source())).rejects.toThrow('EIO: the stick was pulled');
});

const tree = fc.uniqueArray(
  fc.record({
    path: fc.stringMatching(/^[a-z0-9]{1,8}\/[a-z0-9-]{1,20}$/u),
    content: fc.uint8Array({ maxLength: 2000 }),
  }),
  { selector: ({ path }) => path, maxLength: 6 },
);
const tarOf = (files: { path: string; content: Uint8Array }[]) =>
  collect(writeTar(files.map((file) => ({ ...file, size: file.content.length }))));

test('readTar returns the same items for any chunking of the stream', async () => {
  const sizes = fc.array(fc.integer({ min: 0, max: 1500 }), { minLength: 1, maxLength: 8 });
  await fc.assert(
    fc.asyncProperty(tree, sizes, async (files, cuts) => {
      const tar = await tarOf(files);
      const whole = await read(tar);
      expect(await read(tar, [...cuts, 1])).toEqual(whole);
      expect(whole.map(({ path, content }) => [path, content])).toEqual(
        files.map(({ path, content }) => [path, Buffer.from(content).toString('latin1')]),
      );
    }),
  );
});

test('readTar reads a source that reuses one buffer for every chunk', async () => {
  const reusing = async function* (tar: Uint8Array, size: number) {
    const buffer = Buffer.alloc(size);
    for (let at = 0; at < tar.length; at += size) {
      const part = tar.subarray(at, at + size);
      buffer.set(part);
      yield buffer.subarray(0, part.length);
      buffer.fill(0xee);
    }
  };
  for (const size of [7, 300, 512, 1000]) {
    expect(await readAll(reusing(rawTar(good), size))).toEqual(await read(rawTar(good)));
  }
});

test('readTar reads any bytes or refuses them with a code', async () => {
  const bytes = fc.uint8Array({ maxLength: 4096, size: 'max' });
  await fc.assert(
    fc.asyncProperty(bytes, async (noise) => {
      expect(await judge(noise)).not.toBe('INTERNAL');
    }),
  );
});

test('readTar reads or refuses with a code a good archive with bytes changed, cut, doubled or zeroed', async () => {
  const tar = rawTar(good);
  const at = fc.nat({ max: tar.length - 1 });
  const mutation = fc.oneof(
    fc.record({ kind: fc.constant('set'), from: at, length: fc.constant(1), byte: fc.nat(255) }),
    fc.record({
      kind: fc.constant('fill'),
      from: at,
      length: fc.nat(600),
      byte: fc.constantFrom(0, 0x30, 0xff),
    }),
    fc.record({
      kind: fc.constantFrom('cut', 'double'),
      from: at,
      length: fc.nat(1200),
      byte: fc.constant(0),
    }),
  );
  const codes = new Set<string>();
  await fc.assert(
    fc.asyncProperty(
      fc.array(mutation, { minLength: 1, maxLength: 4 }),
      fc.boolean(),
      async (mutations, resum) => {
        let bytes = Buffer.from(tar);
        for (const { kind, from, length, byte } of mutations) {
          const [head, middle, tail] = [
            bytes.subarray(0, from),
            bytes.subarray(from, from + length),
            bytes.subarray(from + length),
          ];
          if (kind === 'cut') bytes = Buffer.concat([head, tail]);
          else if (kind === 'double') bytes = Buffer.concat([head, middle, middle, tail]);
          else bytes = Buffer.concat([head, Buffer.alloc(middle.length, byte), tail]);
        }
        // Half of the runs repair every checksum, or nothing behind it would ever be reached.
        if (resum) repairChecksums(bytes);
        const code = await judge(bytes);
        codes.add(code);
        expect(code).not.toBe('INTERNAL');
      },
    ),
    { numRuns: runs(400) },
  );
  expect(codes.size).toBeGreaterThan(4);
});

const repairChecksums = (bytes: Buffer): void => {
  for (let at = 0; at + 512 <= bytes.length; at += 512) {
    const block = bytes.subarray(at, at + 512);
    if (block.toString('latin1', 257, 262) !== 'ustar') continue;
    block.fill(' ', 148, 156);
    const sum = block.reduce((total, byte) => total + byte, 0);
    block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  }
};
