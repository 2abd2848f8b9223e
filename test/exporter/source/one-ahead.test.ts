import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { digestOf } from '#bundles/digest';
import { oneAhead } from '../../../exporter/source/one-ahead.ts';
import type { Source } from '../../../exporter/source/source.ts';

const MIB = 1 << 20;
const NAMES = ['one', 'two', 'three'] as const;
type Name = (typeof NAMES)[number];

const wanted = (name: Name, size: number) => ({ repository: 'prod/edge', digest: digestOf(name), size });

/** A source of blobs in chunks of 1 MiB that tells what it is asked, and what is open. */
const talking = (sizes: Readonly<Partial<Record<Name, number>>>, fails?: Name) => {
  const asked: Name[] = [];
  const open = new Set<Name>();
  const nameOf = new Map(NAMES.map((name) => [digestOf(name), name]));
  const source = {
    name: 'a registry far away',
    stream: async function* (_repository: string, digest: `sha256:${string}`, signal?: AbortSignal) {
      const name = nameOf.get(digest) as Name;
      asked.push(name);
      open.add(name);
      try {
        if (name === fails) throw new Error(`${name} is not there`);
        for (let left = sizes[name] ?? 0; left > 0; left -= MIB) {
          await turn();
          signal?.throwIfAborted();
          yield Buffer.alloc(Math.min(left, MIB), name);
        }
      } finally {
        open.delete(name);
      }
    },
  } as unknown as Source;
  return { source, asked, open };
};

const read = async (
  source: Source,
  name: Name,
  onChunk: (count: number) => void = () => {},
): Promise<number> => {
  let size = 0;
  let count = 0;
  for await (const chunk of source.stream('prod/edge', digestOf(name))) {
    size += chunk.byteLength;
    count += 1;
    onChunk(count);
  }
  return size;
};

describe('oneAhead', () => {
  const sizes = { one: 40 * MIB, two: 3 * MIB, three: 5 * MIB };
  const order = NAMES.map((name) => wanted(name, sizes[name]));

  it('requests each blob once, when the one before is almost read', async () => {
    const { source, asked, open } = talking(sizes);
    await using ahead = oneAhead(source, order);
    const size = await read(ahead.source, 'one', (count) => {
      expect(asked).toEqual(count < 24 ? ['one'] : ['one', 'two']);
    });
    expect(size).toBe(sizes.one);
    expect(await read(ahead.source, 'two')).toBe(sizes.two);
    expect(await read(ahead.source, 'three')).toBe(sizes.three);
    expect(asked).toEqual(['one', 'two', 'three']);
    expect(open.size).toBe(0);
  });

  it('requests blobs again in another order, and closes those that were not read', async () => {
    const { source, asked, open } = talking(sizes);
    await using ahead = oneAhead(source, order);
    await read(ahead.source, 'one');
    expect([...open]).toEqual(['two']);
    expect(await read(ahead.source, 'three')).toBe(sizes.three);
    expect(open.size).toBe(0);
    expect(await read(ahead.source, 'two')).toBe(sizes.two);
    expect(asked).toEqual(['one', 'two', 'three', 'two', 'three']);
  });

  it('closes every stream, read to the end or not', async () => {
    const { source, open } = talking(sizes);
    {
      await using ahead = oneAhead(source, order);
      for await (const _ of ahead.source.stream('prod/edge', digestOf('two'))) break;
      expect([...open]).toEqual(['three']);
    }
    expect(open.size).toBe(0);
  });

  it('reports the failure of a blob when that blob is read', async () => {
    const { source } = talking(sizes, 'two');
    await using ahead = oneAhead(source, order);
    expect(await read(ahead.source, 'one')).toBe(sizes.one);
    await expect(read(ahead.source, 'two')).rejects.toThrow('two is not there');
    expect(await read(ahead.source, 'three')).toBe(sizes.three);
  });

  it('stops all streams together', async () => {
    const { source, open } = talking(sizes);
    await using ahead = oneAhead(source, order);
    const stop = new AbortController();
    const reading = async (): Promise<void> => {
      let count = 0;
      for await (const _ of ahead.source.stream('prod/edge', digestOf('one'), stop.signal)) {
        count += 1;
        if (count === 30) stop.abort();
      }
    };
    await expect(reading()).rejects.toThrow('aborted');
    await ahead[Symbol.asyncDispose]();
    expect(open.size).toBe(0);
  });
});
