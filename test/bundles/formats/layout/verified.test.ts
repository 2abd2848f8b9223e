import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { digestOf } from '#bundles/digest';
import { readBlob, verified } from '#bundles/formats/layout/verified';
import { collect, streamOf } from '../archive/streams.ts';
import { blobsInMemory } from '../../blobs-in-memory.ts';
import { verdict } from '../../verdict.ts';

const content = Buffer.from('the bytes that were announced');
const digest = digestOf(content);

describe('a verified stream', () => {
  it('passes on the bytes of its source for any chunking', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.uint8Array({ maxLength: 200 }),
        fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 5 }),
        async (bytes, sizes) => {
          const stream = verified(digestOf(bytes), bytes.length, streamOf(bytes, sizes), 'here');
          expect(await collect(stream)).toEqual(Buffer.from(bytes));
        },
      ),
    );
  });

  it('withholds the last bytes of damaged content from a reader that stops at the announced size', async () => {
    const damaged = Buffer.from(content);
    damaged[3] = 0;
    const stream = verified(digest, content.length, streamOf(damaged, [7]), 'here');
    let taken = 0;
    const take = async (): Promise<void> => {
      while (taken < content.length) taken += (await stream.next()).value?.byteLength ?? 0;
    };
    await expect(take()).rejects.toMatchObject({ code: 'DIGEST_MISMATCH' });
    expect(taken).toBeLessThan(content.length);
  });

  it.each([
    ['DIGEST_MISMATCH', 'with another byte', Buffer.from('the bytes that were ANNOUNCED')],
    ['SIZE_MISMATCH', 'that is cut', content.subarray(0, -1)],
    ['SIZE_MISMATCH', 'that is padded', Buffer.concat([content, Buffer.alloc(1)])],
    ['SIZE_MISMATCH', 'that is empty', Buffer.alloc(0)],
  ])('refuses with %s content %s', async (code, _what, bytes) => {
    const read = () => collect(verified(digest, content.length, streamOf(bytes, [7]), 'here'));
    expect(await verdict(read)).toBe(code);
  });

  it('reads no further than the announced size, and closes its source', async () => {
    let read = 0;
    let closed = false;
    async function* endless() {
      try {
        for (;;) {
          read += 1000;
          yield Buffer.alloc(1000);
        }
      } finally {
        closed = true;
      }
    }
    expect(await verdict(() => collect(verified(digest, 4500, endless(), 'here')))).toBe('SIZE_MISMATCH');
    expect({ read, closed }).toEqual({ read: 5000, closed: true });
  });
});

describe('readBlob', () => {
  it('returns the whole verified blob, or refuses it', async () => {
    const blobs = blobsInMemory();
    const big = blobs.put(Buffer.alloc(2500, 'x'));
    expect((await readBlob(blobs, big, 2500)).equals(Buffer.alloc(2500, 'x'))).toBe(true);
    expect(await verdict(() => readBlob(blobs, big, 2499))).toBe('TOO_LARGE');
    expect(await verdict(() => readBlob(blobs, digest, 2500))).toBe('MISSING_BLOB');
    blobs.content.set(big, Buffer.alloc(2500, 'y'));
    expect(await verdict(() => readBlob(blobs, big, 2500))).toBe('DIGEST_MISMATCH');
  });

  it('does not open a blob whose size exceeds the limit', async () => {
    const lying = {
      name: 'lying',
      size: async () => 1e12,
      open: () => Promise.reject(new Error('it was opened')),
    };
    expect(await verdict(() => readBlob(lying, digest, 4 << 20))).toBe('TOO_LARGE');
  });

  it('refuses a blob that grew after its size was read', async () => {
    const growing = {
      name: 'growing',
      size: async () => content.length,
      open: async () => streamOf(Buffer.alloc(99)),
    };
    expect(await verdict(() => readBlob(growing, digest, 1000))).toBe('SIZE_MISMATCH');
  });
});
