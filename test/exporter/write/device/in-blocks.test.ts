import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { inBlocks } from '../../../../exporter/write/device/in-blocks.ts';
import { BLOCK, giveMemory, PAGE, takeMemory } from '../../../../exporter/write/device/page-memory.ts';

/** Content in chunks; some read into the writer's own memory, at the beginning of a page or behind it. */
type Chunk = { readonly size: number; readonly place: 'elsewhere' | 'own' | 'own, off a page' };

const chunks: fc.Arbitrary<readonly Chunk[]> = fc.array(
  fc.record({
    size: fc.oneof(
      fc.integer({ min: 0, max: 5000 }),
      fc.constantFrom(PAGE, 3 * PAGE, BLOCK - PAGE, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 7),
    ),
    place: fc.constantFrom('elsewhere', 'own', 'own, off a page'),
  }),
  { maxLength: 10 },
);

describe('content in pieces of whole pages', () => {
  it('is what the source gave, each piece but the first and the last of whole pages at the beginning of one', async () => {
    const property = fc.asyncProperty(chunks, fc.nat({ max: 3 * PAGE }), async (list, from) => {
      const memory = takeMemory();
      const given: Buffer[] = [];
      const content = async function* (): AsyncGenerator<Uint8Array> {
        for (const [index, { size, place }] of list.entries()) {
          const off = place === 'own, off a page' ? 1 : 0;
          const chunk = place === 'elsewhere' ? Buffer.alloc(size) : memory.ring().subarray(off, off + size);
          chunk.fill(index + 1);
          given.push(Buffer.from(chunk));
          yield chunk;
          if (place === 'elsewhere') chunk.fill(0xee);
        }
      };
      const found: Buffer[] = [];
      let offset = from;
      let last = true;
      for await (const piece of inBlocks(content(), memory, from)) {
        expect(last).toBe(true);
        if (offset % PAGE === 0) expect(memory.isPaged(piece)).toBe(true);
        else expect(offset).toBe(from);
        offset += piece.byteLength;
        last = offset % PAGE === 0;
        found.push(Buffer.from(piece));
      }
      giveMemory(memory);
      expect(Buffer.concat(found).equals(Buffer.concat(given))).toBe(true);
    });
    await fc.assert(property, { numRuns: 100 });
  });

  it('is not copied where it lies in the memory that it is written from', async () => {
    const memory = takeMemory();
    const chunk = memory.ring();
    const pieces = await Array.fromAsync(inBlocks(once(chunk), memory));
    expect(pieces).toEqual([chunk]);
    expect(pieces[0]?.byteOffset).toBe(chunk.byteOffset);
    giveMemory(memory);
  });
});

async function* once(chunk: Uint8Array): AsyncGenerator<Uint8Array> {
  yield chunk;
}
