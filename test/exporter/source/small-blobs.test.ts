import { describe, expect, it } from 'vitest';
import { type Digest, digestOf } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import { readBlob } from '#bundles/formats/layout/verified';
import { readInParallel } from '../../../exporter/source/read-in-parallel.ts';
import { inMemory } from '../../../exporter/source/in-memory.ts';
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

describe('small blobs of several repositories', () => {
  it('are fetched once from the first repository that is asked', async () => {
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

  it('are kept only if their digest is correct, and large blobs never', async () => {
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

describe('a small blob that several readers request at once', () => {
  /** A repository whose answers come when the test says so. */
  const slow = () => {
    const asked: PromiseWithResolvers<Buffer | undefined>[] = [];
    const source: BlobSource = {
      name: 'registry',
      size: async () => Promise.reject(new Error('it was looked for')),
      open: async () => Promise.reject(new Error('it was opened')),
      get: async (_, { signal }) => {
        const answer = Promise.withResolvers<Buffer | undefined>();
        signal?.addEventListener('abort', () => answer.reject(signal.reason));
        asked.push(answer);
        const found = await answer.promise;
        return found && inMemory(found);
      },
    };
    return { source, asked, answer: (given: Buffer | undefined) => asked[0]?.resolve(given) };
  };
  const digest = digestOf(SMALL);
  const turn = () => new Promise((resolve) => setImmediate(resolve));

  it('is fetched once from one repository, without a request for its size', async () => {
    const [a, b] = [slow(), slow()];
    const { over } = keepSmallBlobs();
    const [first, second] = [over(a.source), over(b.source)];
    const reads = [first, first, second].map((source) => readBlob(source, digest, 100));
    await turn();
    a.answer(SMALL);
    expect(await Promise.all(reads)).toEqual([SMALL, SMALL, SMALL]);
    expect(await Promise.all([first.size(digest), second.size(digest)])).toEqual([11, 11]);
    expect([a.asked.length, b.asked.length]).toEqual([1, 0]);
  });

  it('is requested again by the second reader when the first was stopped, or found it missing or damaged', async () => {
    for (const fail of ['stopped', 'missing', 'damaged']) {
      const [a, b] = [slow(), slow()];
      const { over } = keepSmallBlobs();
      const stop = new AbortController();
      const first = readBlob(over(a.source), digest, 100, stop.signal);
      const second = readBlob(over(b.source), digest, 100);
      await turn();
      if (fail === 'stopped') stop.abort();
      else a.answer(fail === 'damaged' ? Buffer.from('A statement') : undefined);
      await expect(first).rejects.toThrow();
      await turn();
      expect(b.asked).toHaveLength(1);
      b.answer(SMALL);
      expect(await second).toEqual(SMALL);
    }
  });

  it('is not requested again by every reader when the network fails', async () => {
    const { source, asked } = slow();
    const shared = keepSmallBlobs().over(source);
    const reads = [1, 2, 3].map(() => readBlob(shared, digest, 100));
    const verdicts = Promise.allSettled(reads);
    await turn();
    asked[0]?.reject(new FleetError('REGISTRY_UNREACHABLE', 'it is gone'));
    expect((await verdicts).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    expect(asked).toHaveLength(1);
    const again = readBlob(shared, digest, 100);
    asked[1]?.resolve(SMALL);
    expect(await again).toEqual(SMALL);
  });

  it('is refused to a reader with a lower limit, and read by the others', async () => {
    const { source, answer } = slow();
    const shared = keepSmallBlobs().over(source);
    const reads = [100, 3].map((maxBytes) => readBlob(shared, digest, maxBytes));
    const verdicts = Promise.allSettled(reads);
    answer(SMALL);
    expect(await verdicts).toMatchObject([{ value: SMALL }, { reason: { code: 'TOO_LARGE' } }]);
  });
});

describe('readInParallel', () => {
  it('returns results in the order of the items, and throws the first failure in that order', async () => {
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

  it('stops when its signal is aborted', async () => {
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
