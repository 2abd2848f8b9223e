import { describe, expect, it } from 'vitest';
import { readInTurn } from '../../../../agent/acquire/blobs/read-in-turn.ts';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import { digestOf } from '#bundles/digest';
import { blobsInMemory } from '../../../bundles/blobs-in-memory.ts';

/** Blobs of three pieces each, which note what is read of them. */
const noted = (...names: readonly string[]) => {
  const memory = blobsInMemory();
  const nameOf = new Map(names.map((name) => [memory.put(name.repeat(2500)), name]));
  const log: string[] = [];
  const source: BlobSource = {
    ...memory,
    open: async (digest) => {
      const content = await memory.open(digest);
      return (async function* () {
        for await (const piece of content) {
          log.push(nameOf.get(digest) ?? '');
          yield piece;
        }
      })();
    },
  };
  const blobs = readInTurn(source);
  const open = (name: string) => blobs.open(digestOf(name.repeat(2500)));
  return { open, log };
};

const read = async (content: AsyncIterable<Uint8Array>): Promise<void> => {
  for await (const piece of content) expect(piece.byteLength).toBeLessThanOrEqual(1000);
};

describe('readInTurn', () => {
  it('reads a blob to its end before the first byte of the next', async () => {
    const { open, log } = noted('a', 'b', 'c');
    await Promise.all(['a', 'b', 'c'].map(async (name) => read(await open(name))));
    expect(log.join('')).toBe('aaabbbccc');
  });

  it('reads the next blob after a reader that stopped or failed', async () => {
    const { open, log } = noted('a', 'b');
    const stops = async (): Promise<void> => {
      for await (const _ of await open('a')) throw new Error('enough');
    };
    const [first, second] = await Promise.allSettled([stops(), open('b').then(read)]);
    expect([first?.status, second?.status]).toEqual(['rejected', 'fulfilled']);
    expect(log.join('')).toBe('abbb');
  });

  it('waits for no stream that nobody reads', async () => {
    const { open, log } = noted('a', 'b');
    await open('a');
    await read(await open('b'));
    expect(log.join('')).toBe('bbb');
  });
});
