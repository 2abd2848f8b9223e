import { gunzipSync, gzipSync } from 'node:zlib';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { gunzipCapped, gzipFixed } from '../../../../bundles/formats/archive/gzip.ts';
import { verdict } from './streams.ts';

test('gzipFixed writes the same header on every machine: deflate, no flags, time 0, no hint, OS unknown', () => {
  expect(gzipFixed(Buffer.from('hello')).toString('hex', 0, 10)).toBe('1f8b08000000000000ff');
});

test('gunzipCapped and the gunzip of zlib restore what gzipFixed packs', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 5000 }), (bytes) => {
      const packed = gzipFixed(bytes);
      expect(gunzipCapped(packed, bytes.length)).toEqual(Buffer.from(bytes));
      expect(gunzipSync(packed)).toEqual(Buffer.from(bytes));
    }),
  );
});

const packed = gzipFixed(Buffer.from('hello '.repeat(500)));
const flipped = (at: number): Buffer => {
  const copy = Buffer.from(packed);
  copy[at] = (copy[at] as number) ^ 1;
  return copy;
};

test.each([
  ['ACCEPT', 'as many bytes as allowed', packed, 3000],
  ['BOMB', 'one byte more than allowed', packed, 2999],
  ['BOMB', 'anything where nothing is allowed', gzipFixed(Buffer.from('x')), 0],
  ['ACCEPT', 'nothing where nothing is allowed', gzipFixed(Buffer.alloc(0)), 0],
  ['BOMB', '8 MiB of zeros in 8 KiB', gzipSync(Buffer.alloc(8 << 20)), 128 << 10],
  ['TRUNCATED', 'a stream without its end', packed.subarray(0, -3), 3000],
  ['TRUNCATED', 'half a header', packed.subarray(0, 5), 3000],
  ['TRUNCATED', 'nothing at all', Buffer.alloc(0), 3000],
  ['BAD_GZIP', 'other bytes', Buffer.from('hello world'), 3000],
  ['BAD_GZIP', 'a wrong check sum', flipped(packed.length - 6), 3000],
  ['BAD_GZIP', 'text behind the stream', Buffer.concat([packed, Buffer.from('evil text')]), 3000],
  ['TRAILING', 'zeros behind the stream', Buffer.concat([packed, Buffer.alloc(9)]), 3000],
  ['BOMB', 'a second stream behind the first', Buffer.concat([packed, packed]), 3000],
])('%s: %s', async (code, _what, bytes, maxBytes) => {
  expect(await verdict(() => gunzipCapped(bytes, maxBytes))).toBe(code);
});

test('gunzipCapped unpacks any bytes or refuses them with a code', async () => {
  const noise = fc.uint8Array({ maxLength: 300 });
  const bytes = fc.oneof(
    noise,
    noise.map((tail) => Buffer.concat([packed.subarray(0, 10), tail])),
  );
  await fc.assert(
    fc.asyncProperty(bytes, async (input) => void (await verdict(() => gunzipCapped(input, 3000)))),
  );
});
