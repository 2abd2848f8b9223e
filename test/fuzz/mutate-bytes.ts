import type { Random } from './random.ts';

/** Makes another input of one that is good, or was once. `others` are there to be spliced in. */
export type Mutate = (random: Random, input: Buffer, others: readonly Buffer[]) => Buffer;

/** Inputs stay below this, so that a case is slow only when a parser makes it so. */
export const MAX_INPUT = 1 << 20;

const ODD_BYTES = [
  0x00, 0x01, 0x0a, 0x20, 0x22, 0x2f, 0x30, 0x5c, 0x7f, 0x80, 0xc0, 0xed, 0xf4, 0xff,
] as const;

const ODD_TEXTS = [
  '../',
  '\0',
  '\\',
  '"',
  '\n',
  '\r\n',
  '\u202e',
  '\ufeff',
  '%00',
  '-1',
  '1e999',
  '0x10',
] as const;

type Change = (random: Random, bytes: Buffer, others: readonly Buffer[]) => Buffer;

const put = (bytes: Buffer, at: number, removed: number, added: Uint8Array): Buffer =>
  Buffer.concat([bytes.subarray(0, at), added, bytes.subarray(at + removed)]);

const withByte = (random: Random, bytes: Buffer, change: (byte: number) => number): Buffer => {
  if (bytes.length === 0) return bytes;
  const copy = Buffer.from(bytes);
  const at = random.below(copy.length);
  copy[at] = change(copy[at] as number);
  return copy;
};

const CHANGES: readonly Change[] = [
  (random, bytes) => withByte(random, bytes, (byte) => byte ^ (1 << random.below(8))),
  (random, bytes) => withByte(random, bytes, () => random.pick(ODD_BYTES)),
  (random, bytes) => put(bytes, random.below(bytes.length + 1), 0, random.bytes(1 + random.below(8))),
  (random, bytes) => put(bytes, random.below(bytes.length + 1), 0, Buffer.from(random.pick(ODD_TEXTS))),
  (random, bytes) => put(bytes, random.below(bytes.length), 1 + random.below(40), Buffer.alloc(0)),
  (random, bytes) => bytes.subarray(0, random.below(bytes.length + 1)),
  (random, bytes) => {
    const [from, at] = [random.below(bytes.length), random.below(bytes.length + 1)];
    return put(bytes, at, 0, bytes.subarray(from, from + 1 + random.below(600)));
  },
  (random, bytes) => {
    const from = random.below(bytes.length);
    const piece = bytes.subarray(from, from + 1 + random.below(16));
    return put(bytes, from, 0, Buffer.concat(Array.from({ length: 1 + random.below(2000) }, () => piece)));
  },
  (random, bytes, others) => {
    const other = random.pick([bytes, ...others]);
    return Buffer.concat([
      bytes.subarray(0, random.below(bytes.length + 1)),
      other.subarray(random.below(other.length + 1)),
    ]);
  },
  (random, bytes) => {
    const length = random.below(64);
    return put(bytes, random.below(bytes.length + 1), length, Buffer.alloc(length, random.pick(ODD_BYTES)));
  },
];

/** One to four changes that know nothing of what the bytes mean. */
export const mutateBytes: Mutate = (random, input, others) => {
  let bytes = input;
  for (let count = 1 + random.below(4); count > 0; count--)
    bytes = random.pick(CHANGES)(random, bytes, others);
  return bytes.subarray(0, MAX_INPUT);
};
