import { Encrypter } from 'age-encryption';
import * as fc from 'fast-check';
import { beforeAll, describe, expect, it, test } from 'vitest';
import { openAge } from '#bundles/trust/age/open-age';
import { sealAge } from '#bundles/trust/age/seal-age';
import { formatError } from '#bundles/errors';
import { type AgeIdentity, generateAgeIdentity } from '#bundles/trust/age/recipient';
import { collect, content, inMemory, piecesOf, readAll, refusal } from './in-memory.ts';
import { runs } from '../../../harness/run/long.ts';

const CHUNK = 64 << 10;
const TAG = 16;
const SEALED = CHUNK + TAG;

let mine: AgeIdentity;
let other: AgeIdentity;

beforeAll(async () => {
  mine = await generateAgeIdentity();
  other = await generateAgeIdentity();
});

const seal = async (plain: Uint8Array): Promise<Buffer> =>
  collect((await sealAge([mine.recipient])).seal(piecesOf(plain)));

const open = (sealed: Uint8Array) => openAge(inMemory(sealed), [mine.identity]);

describe.each([0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 5 * CHUNK + 7])('%i bytes', (size) => {
  it('are read unchanged, in steps of any size', async () => {
    const plain = content(size);
    const sealed = await seal(plain);
    const opened = await open(sealed);
    expect(opened.size).toBe(size);
    for (const step of [511, CHUNK, 300_000]) expect((await readAll(opened, step)).equals(plain)).toBe(true);
  });

  it('are read when the age library sealed them', async () => {
    const plain = content(size);
    const encrypter = new Encrypter();
    encrypter.addRecipient(mine.recipient);
    expect((await readAll(await open(await encrypter.encrypt(plain)))).equals(plain)).toBe(true);
  });
});

test('openAge reads any span correctly, in any order of reads', async () => {
  const plain = content(3 * CHUNK + 100);
  // A disk may give less than it was asked for.
  const opened = await openAge(inMemory(await seal(plain), 7_777), [mine.identity]);
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 0, max: plain.byteLength + 10 }),
      fc.integer({ min: 0, max: 3 * CHUNK }),
      async (position, length) => {
        const buffer = Buffer.alloc(length + 4, 0xee);
        const { bytesRead } = await opened.read(buffer, 2, length, position);
        const wanted = plain.subarray(position, position + length);
        expect(bytesRead).toBeLessThanOrEqual(wanted.byteLength);
        if (wanted.byteLength > 0) expect(bytesRead).toBeGreaterThan(0);
        expect(buffer.subarray(2, 2 + bytesRead).equals(wanted.subarray(0, bytesRead))).toBe(true);
        expect(buffer.subarray(0, 2).equals(Buffer.from([0xee, 0xee]))).toBe(true);
        expect(buffer.subarray(2 + bytesRead).every((byte) => byte === 0xee)).toBe(true);
      },
    ),
    { numRuns: runs(40) },
  );
});

test('openAge serves concurrent reads', async () => {
  const plain = content(4 * CHUNK);
  const opened = await open(await seal(plain));
  const spans = Array.from({ length: 12 }, (_, index) => index * 20_001);
  const found = await Promise.all(
    spans.map(async (position) => {
      const buffer = Buffer.alloc(30_000);
      const { bytesRead } = await opened.read(buffer, 0, buffer.byteLength, position);
      return buffer.subarray(0, bytesRead).equals(plain.subarray(position, position + bytesRead));
    }),
  );
  expect(found).toEqual(spans.map(() => true));
});

describe('openAge of a file with four chunks', () => {
  const plain = content(3 * CHUNK + 500);
  let sealed: Buffer;
  let begin: number;

  beforeAll(async () => {
    sealed = await seal(plain);
    begin = sealed.byteLength - (plain.byteLength + 4 * TAG);
  });

  const changed = (at: number): Buffer => {
    const copy = Buffer.from(sealed);
    copy.writeUInt8(copy.readUInt8(at) ^ 1, at);
    return copy;
  };
  const readWhole = async (file: Uint8Array) => readAll(await open(file));

  it('refuses a byte flipped anywhere, and returns no byte of a changed chunk', async () => {
    const header = begin - 16;
    const places = [0, 21, 30, 40, 100, header - 45, header - 2, header, begin - 1];
    const chunks = [0, 1, 2, 3].flatMap((index) => [begin + index * SEALED, begin + index * SEALED + 499]);
    const tags = [begin + CHUNK, begin + 2 * SEALED - 1, sealed.byteLength - 1];
    for (const at of [...places, ...chunks, ...tags]) {
      const { code } = await refusal(() => readWhole(changed(at)));
      expect(['DIGEST_MISMATCH', 'MEDIUM_INVALID', 'NOT_A_RECIPIENT', 'TRUNCATED']).toContain(code);
    }
    for (const at of [...chunks, ...tags])
      expect((await refusal(() => readWhole(changed(at)))).code).toBe('DIGEST_MISMATCH');
  });

  it('returns the intact chunks when another one is damaged', async () => {
    const opened = await open(changed(begin + SEALED + 5));
    const buffer = Buffer.alloc(100);
    await opened.read(buffer, 0, 100, 10);
    expect(buffer.equals(plain.subarray(10, 110))).toBe(true);
    await opened.read(buffer, 0, 100, 2 * CHUNK);
    expect(buffer.equals(plain.subarray(2 * CHUNK, 2 * CHUNK + 100))).toBe(true);
    const error = await refusal(() => opened.read(buffer, 0, 100, CHUNK));
    expect(error).toMatchObject({ code: 'DIGEST_MISMATCH' });
    expect(formatError(error)).toContain('at byte 65536 of its content');
  });

  it.each([1, 2, 3])('refuses a file that is truncated after chunk %i', async (count) => {
    const cut = sealed.subarray(0, begin + count * SEALED);
    expect((await refusal(() => open(cut))).code).toBe('DIGEST_MISMATCH');
  });

  it('refuses a file that is truncated at any other place', async () => {
    for (const length of [0, 10, 21, 22, 60, begin - 17, begin - 1, begin, begin + 15, begin + SEALED + 16])
      expect((await refusal(() => open(sealed.subarray(0, length)))).code).toBe('TRUNCATED');
    for (const length of [begin + 16, begin + 1000, begin + SEALED + 17, sealed.byteLength - 1])
      expect((await refusal(() => open(sealed.subarray(0, length)))).code).toBe('DIGEST_MISMATCH');
  });

  it('refuses two chunks swapped, one left out, one repeated and one appended', async () => {
    const chunk = (index: number) => sealed.subarray(begin + index * SEALED, begin + (index + 1) * SEALED);
    const head = sealed.subarray(0, begin);
    const made = (...indexes: readonly number[]) => Buffer.concat([head, ...indexes.map(chunk)]);
    expect((await readWhole(made(0, 1, 2, 3))).equals(plain)).toBe(true);
    for (const order of [[1, 0, 2, 3], [0, 2, 3], [0, 1, 1, 2, 3], [0, 1, 2, 3, 3], [0, 1, 2, 3, 0], [3]])
      expect((await refusal(() => readWhole(made(...order)))).code).toBe('DIGEST_MISMATCH');
    const empty = Buffer.concat([sealed, Buffer.alloc(TAG)]);
    expect((await refusal(() => readWhole(empty))).code).toBe('DIGEST_MISMATCH');
  });

  it('refuses the header of another file', async () => {
    const another = await seal(plain);
    const mixed = Buffer.concat([another.subarray(0, begin), sealed.subarray(begin)]);
    expect((await refusal(() => open(mixed))).code).toBe('DIGEST_MISMATCH');
  });
});

test('openAge without a matching identity is NOT_A_RECIPIENT, and an invalid identity is not repeated in the error', async () => {
  const sealed = await seal(content(10));
  const stranger = await refusal(() => openAge(inMemory(sealed), [other.identity]));
  expect(formatError(stranger)).toContain('sealed to other machines than this one');
  expect(stranger.code).toBe('NOT_A_RECIPIENT');
  const none = await refusal(() => openAge(inMemory(sealed), ['AGE-SECRET-KEY-1HUSH']));
  expect(none.code).toBe('KEY_FORMAT');
  expect(formatError(none)).not.toContain('HUSH');
  expect(none.cause).toBeUndefined();
});

test("openAge of another file than age's is MEDIUM_INVALID", async () => {
  expect((await refusal(() => open(Buffer.alloc(10_000, 'x')))).code).toBe('MEDIUM_INVALID');
});

test('openAge of a header without an end is TOO_LARGE', async () => {
  const endless = Buffer.concat([
    Buffer.from('age-encryption.org/v1\n'),
    Buffer.alloc(5 << 20, '-> X25519 a\n'),
  ]);
  expect((await refusal(() => open(endless))).code).toBe('TOO_LARGE');
});
