import { Decrypter } from 'age-encryption';
import { beforeAll, describe, expect, it, test } from 'vitest';
import { sealAge } from '#bundles/trust/age/seal-age';
import { type AgeIdentity, generateAgeIdentity } from '#bundles/trust/age/recipient';
import { collect, content, piecesOf, refusal } from './in-memory.ts';

const CHUNK = 64 << 10;
let one: AgeIdentity;
let two: AgeIdentity;

beforeAll(async () => {
  one = await generateAgeIdentity();
  two = await generateAgeIdentity();
});

const openWithLibrary = async (sealed: Uint8Array, identity: string): Promise<Uint8Array> => {
  const decrypter = new Decrypter();
  decrypter.addIdentity(identity);
  return decrypter.decrypt(sealed);
};

describe.each([0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 8 * CHUNK, 9 * CHUNK + 3])('%i bytes', (size) => {
  it('are an age file of the announced size that the age library opens for every recipient', async () => {
    const plain = content(size);
    const sealer = await sealAge([one.recipient, two.recipient, one.recipient]);
    const sealed = await collect(sealer.seal(piecesOf(plain)));
    expect(sealed.byteLength).toBe(sealer.sealedSize(size));
    expect(sealed.toString('latin1').match(/-> X25519 /g)).toHaveLength(2);
    for (const { identity } of [one, two])
      expect(Buffer.from(await openWithLibrary(sealed, identity)).equals(plain)).toBe(true);
  });
});

test('sealAge leaves no plain content, and two files of one sealer have different keys', async () => {
  const plain = Buffer.from('prod/kiosk '.repeat(100));
  const { seal } = await sealAge([one.recipient]);
  const first = await collect(seal(piecesOf(plain)));
  const second = await collect(seal(piecesOf(plain)));
  expect(first.includes('kiosk')).toBe(false);
  const header = (file: Buffer) => file.subarray(0, file.indexOf('\n---'));
  expect(header(first).equals(header(second))).toBe(false);
  expect(first.subarray(-500).equals(second.subarray(-500))).toBe(false);
});

test('sealAge reads a source that reuses one buffer', async () => {
  const plain = content(3 * CHUNK);
  const shared = Buffer.alloc(1000);
  const reused = async function* (): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < plain.byteLength; at += shared.byteLength) {
      const count = plain.copy(shared, 0, at, at + shared.byteLength);
      yield shared.subarray(0, count);
    }
  };
  const sealed = await collect((await sealAge([one.recipient])).seal(reused()));
  expect(Buffer.from(await openWithLibrary(sealed, one.identity)).equals(plain)).toBe(true);
});

test('sealAge refuses no recipients and invalid ones', async () => {
  expect((await refusal(() => sealAge([]))).code).toBe('RECIPIENT_MISSING');
  expect((await refusal(() => sealAge(['age1hello']))).code).toBe('KEY_FORMAT');
  // The point zero: a right check sum, and a secret that everybody knows.
  const zero = 'age1qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqsplwwsr'.slice(0, 62);
  expect((await refusal(() => sealAge([zero]))).code).toBe('KEY_FORMAT');
});

test('sealAge passes on an error of the content unchanged', async () => {
  const { seal } = await sealAge([one.recipient]);
  const failing = async function* (): AsyncGenerator<Uint8Array> {
    yield content(10);
    throw new RangeError('the disk went away');
  };
  await expect(collect(seal(failing()))).rejects.toThrow(RangeError);
});
