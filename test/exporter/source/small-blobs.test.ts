import { describe, expect, it } from 'vitest';
import { type Digest, digestOf } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { BlobSource } from '#bundles/layout/blobs';
import { readBlob } from '#bundles/layout/verified';
import { readInParallel } from '../../../exporter/source/read-in-parallel.ts';
import { keepSmallBlobs } from '../../../exporter/source/small-blobs.ts';

const SMALL = Buffer.from('a statement');
const LARGE = Buffer.alloc((1 << 20) + 1);

const counted = (contents: readonly Buffer[], lie = false) => {
  const blobs = new Map<Digest, Buffer>(contents.map((bytes) => [digestOf(bytes), bytes]));
  const asked = { size: 0, open: 0 };
  const source: BlobSource = {
    name: 'registry',
    size: async (digest) => {
      asked.size += 1;
      return blobs.get(digest)?.byteLength;
    },
    open: async (digest) => {
      asked.open += 1;
      const bytes = blobs.get(digest) ?? Buffer.alloc(0);
      return (async function* () {
        yield lie ? Buffer.from(bytes.toString('latin1').toUpperCase()) : bytes;
      })();
    },
  };
  return { source, asked };
};

describe('small blobs that come over the network', () => {
  it('are fetched once, whichever repository has them', async () => {
    const [a, b] = [counted([SMALL]), counted([SMALL])];
    const { over } = keepSmallBlobs();
    const [first, second] = [over(a.source), over(b.source)];
    for (const source of [first, first, second])
      expect(await readBlob(source, digestOf(SMALL), 100)).toEqual(SMALL);
    expect([a.asked, b.asked]).toEqual([
      { size: 1, open: 1 },
      { size: 0, open: 0 },
    ]);
  });

  it('are kept only when they are right, and large ones never', async () => {
    const wrong = counted([SMALL], true);
    const source = keepSmallBlobs().over(wrong.source);
    for (let twice = 0; twice < 2; twice++)
      await expect(readBlob(source, digestOf(SMALL), 100)).rejects.toMatchObject({ code: 'DIGEST_MISMATCH' });
    expect(wrong.asked.open).toBe(2);
    const large = counted([LARGE]);
    const streamed = keepSmallBlobs().over(large.source);
    for (let twice = 0; twice < 2; twice++) await readBlob(streamed, digestOf(LARGE), 2 << 20);
    expect(large.asked).toEqual({ size: 1, open: 2 });
  });
});

describe('reading in parallel', () => {
  it('gives results in the order of the items, and of several failures the first by that order', async () => {
    const slow = async (item: number): Promise<number> => {
      await new Promise((resolve) => setTimeout(resolve, item % 2 === 0 ? 4 : 0));
      return item * 2;
    };
    expect(await readInParallel([1, 2, 3, 4], slow)).toEqual([2, 4, 6, 8]);
    const failing = async (item: number): Promise<never> => {
      await slow(item);
      throw new FleetError('IO', `item ${item}`);
    };
    await expect(readInParallel([2, 3, 4], failing)).rejects.toMatchObject({ message: 'item 2' });
  });

  it('stops when it is told to', async () => {
    const stop = new AbortController();
    const seen: number[] = [];
    const work = readInParallel(
      Array.from({ length: 100 }, (_, at) => at),
      async (item) => {
        seen.push(item);
        stop.abort();
      },
      stop.signal,
    );
    await expect(work).rejects.toMatchObject({ name: 'AbortError' });
    expect(seen.length).toBeLessThan(20);
  });
});
