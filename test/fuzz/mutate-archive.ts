import { gunzipSync, gzipSync } from 'node:zlib';
import { MAX_INPUT, type Mutate, mutateBytes } from './mutate-bytes.ts';
import type { Random } from './random.ts';

const BLOCK = 512;

/** Where fields of a tar header lie, and what nobody should write there. */
const FIELDS: readonly (readonly [at: number, length: number, values: readonly string[]])[] = [
  [0, 100, ['../x', '/x', './', 'a/../b', 'a//b', 'A', '\u00e4', 'x\0y', 'x'.repeat(100), '././@LongLink']],
  [100, 8, ['0007777\0', '9999999\0', '        ', '-0000001']],
  [
    124,
    12,
    ['77777777777\0', '-0000000001\0', '00000000000\0', '00000000001\0', '\u0080\0\0\0\0\0\0\0\0\0\0\u0001'],
  ],
  [156, 1, ['0', '1', '2', '3', '5', '6', '7', 'L', 'K', 'S', 'x', 'g', '\0', 'Z']],
  [157, 100, ['/etc/passwd', '../x', '\0x']],
  [257, 8, ['ustar  \0', 'ustar\u000000', 'ustar\0\0\0', '\0'.repeat(8)]],
  [345, 155, ['../..', 'blobs', 'a/b', '\0x', 'x'.repeat(155)]],
  [500, 12, ['tar\0', '\0'.repeat(12)]],
];

const isHeader = (tar: Buffer, at: number): boolean => tar.toString('latin1', at + 257, at + 262) === 'ustar';

const headersOf = (tar: Buffer): readonly number[] =>
  Array.from({ length: Math.floor(tar.length / BLOCK) }, (_, index) => index * BLOCK).filter((at) =>
    isHeader(tar, at),
  );

const changeField = (random: Random, tar: Buffer): Buffer => {
  const headers = headersOf(tar);
  if (headers.length === 0) return tar;
  const copy = Buffer.from(tar);
  const at = random.pick(headers);
  const [start, length, values] = random.pick(FIELDS);
  copy.fill(0, at + start, at + start + length);
  copy.write(random.pick(values), at + start, length, 'latin1');
  return copy;
};

/** Takes blocks away, doubles them, moves them, or puts some of another archive between them. */
const changeBlocks = (random: Random, tar: Buffer, others: readonly Buffer[]): Buffer => {
  const blocks = Math.floor(tar.length / BLOCK);
  const [from, to] = [random.below(blocks) * BLOCK, random.below(blocks + 1) * BLOCK];
  const length = (1 + random.below(6)) * BLOCK;
  const piece = tar.subarray(from, from + length);
  const kind = random.below(4);
  if (kind === 0) return Buffer.concat([tar.subarray(0, from), tar.subarray(from + length)]);
  if (kind === 1) return Buffer.concat([tar.subarray(0, to), piece, tar.subarray(to)]);
  if (kind === 2)
    return Buffer.concat([tar.subarray(0, from), Buffer.alloc(length), tar.subarray(from + length)]);
  const other = random.pick([tar, ...others]);
  return Buffer.concat([tar.subarray(0, to), other.subarray(random.below(other.length / BLOCK) * BLOCK)]);
};

/** Without this nothing behind a check sum would ever be reached. */
const withChecksums = (tar: Buffer): Buffer => {
  const copy = Buffer.from(tar);
  for (const at of headersOf(copy)) {
    const block = copy.subarray(at, at + BLOCK);
    block.fill(' ', 148, 156);
    const sum = block.reduce((total, byte) => total + byte, 0);
    block.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148, 'latin1');
  }
  return copy;
};

export const mutateTar: Mutate = (random, input, others) => {
  let tar = input;
  for (let count = 1 + random.below(3); count > 0; count--) {
    const kind = random.below(10);
    if (kind < 5) tar = changeField(random, tar);
    else if (kind < 8) tar = changeBlocks(random, tar, others);
    else tar = mutateBytes(random, tar, others);
  }
  tar = tar.subarray(0, MAX_INPUT);
  return random.chance(80) ? withChecksums(tar) : tar;
};

const unzipped = (bytes: Buffer): Buffer | undefined => {
  try {
    return gunzipSync(bytes, { maxOutputLength: MAX_INPUT });
  } catch {
    return undefined;
  }
};

/** A layer: the tar inside, a member behind it, its flags and its trailer, or any byte. */
export const mutateLayer: Mutate = (random, input, others) => {
  const tar = unzipped(input);
  const kind = random.below(10);
  if (!tar || kind === 0) return mutateBytes(random, input, others);
  if (kind === 1)
    return Buffer.concat([input, random.pick([input, gzipSync(''), Buffer.alloc(9), random.bytes(8)])]);
  if (kind === 2) {
    const copy = Buffer.from(input);
    copy[3] = random.below(256);
    return copy;
  }
  if (kind === 3) return gzipSync(Buffer.concat([tar, Buffer.alloc(random.below(8) * MAX_INPUT)]));
  const inner = unzipped(random.pick([input, ...others])) ?? tar;
  return gzipSync(mutateTar(random, tar, [inner]), { level: 1 });
};
