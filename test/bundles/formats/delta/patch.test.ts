import { constants, gzipSync, zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { gzipFixed } from '#bundles/formats/archive/gzip';
import { applyPatch } from '#bundles/formats/delta/apply-patch';
import type { OldContent } from '#bundles/formats/delta/old-content';
import { findCopies } from '#bundles/formats/delta/find-copies';
import { contentOf } from '#bundles/formats/delta/gzip-layer';
import { MAX_UNCOMPRESSED } from '#bundles/formats/delta/limits';
import { createPatch } from '#bundles/formats/delta/create-patch';
import { encodeVarint } from '#bundles/formats/delta/varint';
import { isFleetError } from '#bundles/errors';
import { runs } from '../../../harness/run/long.ts';

const oldOf = (bytes: Buffer): OldContent => ({
  size: bytes.byteLength,
  read: async (offset, length) => bytes.subarray(offset, offset + length),
});

const apply = async (patch: Uint8Array, old: Buffer): Promise<Buffer> =>
  Buffer.concat(await Array.fromAsync(applyPatch([patch], oldOf(old))));

const NO_LIMIT = Number.MAX_SAFE_INTEGER;

/** Bytes that no compressor makes smaller, the same each time. */
const noise = (length: number, seed = 1): Buffer => {
  const bytes = Buffer.alloc(length);
  let state = seed;
  for (let index = 0; index < length; index += 1) {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    bytes[index] = state >>> 24;
  }
  return bytes;
};

/** An old content and a new one that is cut, moved, changed and added to. */
const pairs = fc
  .record({
    old: fc.uint8Array({ maxLength: 2000 }),
    edits: fc.array(
      fc.record({ from: fc.nat(2000), length: fc.nat(900), added: fc.uint8Array({ maxLength: 90 }) }),
      { maxLength: 6 },
    ),
  })
  .map(({ old, edits }) => ({
    old: Buffer.from(old),
    fresh: Buffer.concat(
      edits.flatMap(({ from, length, added }) => [old.subarray(from, from + length), added]),
    ),
  }));

describe('a patch', () => {
  it('restores any new content from any old content', async () => {
    await fc.assert(
      fc.asyncProperty(pairs, async ({ old, fresh }) => {
        const patch = await createPatch(old, fresh, NO_LIMIT);
        expect(patch?.form).toBe('plain');
        expect((await apply(patch?.bytes ?? Buffer.alloc(0), old)).equals(fresh)).toBe(true);
      }),
      { numRuns: runs(100) },
    );
  });

  it('restores a gzip file of ours byte by byte, for any compression level', async () => {
    const [old, fresh] = [noise(40_000), Buffer.concat([noise(40_000), Buffer.from('and more')])];
    for (const level of [1, 6, 9]) {
      const packed = level === 6 ? gzipFixed(fresh) : gzipSync(fresh, { level });
      const patch = await createPatch(gzipFixed(old), packed, NO_LIMIT);
      expect(patch?.form).toBe('gzip');
      expect(patch?.bytes.byteLength).toBeLessThan(150);
      expect((await apply(patch?.bytes ?? Buffer.alloc(0), old)).equals(packed)).toBe(true);
    }
  });

  it('is not made for a gzip file of another program, nor when it would exceed its limit', async () => {
    const [old, fresh] = [noise(4000), noise(4000, 2)];
    const foreign = gzipSync(fresh, { level: 6, memLevel: 3, strategy: constants.Z_HUFFMAN_ONLY });
    expect(contentOf(foreign)?.equals(fresh)).toBe(true);
    expect(await createPatch(gzipFixed(old), foreign, NO_LIMIT)).toBeUndefined();
    expect(await createPatch(old, gzipFixed(fresh), NO_LIMIT)).toBeUndefined();
    expect(await createPatch(old, fresh, 1000)).toBeUndefined();
  });

  it('is under 300 bytes for a small change: inserted, deleted, replaced or moved bytes', async () => {
    const old = noise(200_000);
    const replaced = Buffer.from(old);
    for (let at = 50; at < replaced.length; at += 5000) replaced[at] = 255 - (replaced[at] as number);
    const half = old.length / 2;
    const cases = {
      same: old,
      'put in': Buffer.concat([old.subarray(0, 777), Buffer.from('new'), old.subarray(777)]),
      'taken out': Buffer.concat([old.subarray(0, 5000), old.subarray(7001)]),
      replaced,
      moved: Buffer.concat([old.subarray(half), old.subarray(0, half)]),
    };
    for (const [name, fresh] of Object.entries(cases)) {
      const patch = await createPatch(old, fresh, NO_LIMIT);
      expect(patch?.bytes.byteLength, name).toBeLessThan(300);
    }
  });

  it('has the same bytes each time', async () => {
    const [old, fresh] = [noise(5000), Buffer.concat([noise(2000, 3), noise(5000).subarray(100)])];
    expect(await createPatch(old, fresh, NO_LIMIT)).toEqual(await createPatch(old, fresh, NO_LIMIT));
  });

  it('is applied in small pieces, for any size of old and new content', async () => {
    const old = Buffer.alloc(6 << 20, 'a run of the old content');
    const patch = await createPatch(old, old.subarray(100), NO_LIMIT);
    const sizes: number[] = [];
    const read = async (offset: number, length: number) => {
      sizes.push(length);
      return old.subarray(offset, offset + length);
    };
    for await (const chunk of applyPatch([patch?.bytes ?? Buffer.alloc(0)], { size: old.length, read }))
      sizes.push(chunk.byteLength);
    expect(Math.max(...sizes)).toBe(512 << 10);
    expect(sizes.length).toBeGreaterThan(20);
  });

  it('P14: is refused with more steps than the limit -> DELTA_INVALID', async () => {
    const old = Buffer.from('x');
    const step = Buffer.from([0, 1, 1]);
    const steps = (count: number): Buffer =>
      Buffer.concat([
        Buffer.from('fleet-ferry delta 1\n\0'),
        Buffer.concat([encodeVarint(old.length), encodeVarint(count), Buffer.from([0, 1, 0])]),
        ...Array.from({ length: count - 1 }, () => step),
      ]);
    const made = async (count: number, most?: number): Promise<Buffer> =>
      Buffer.concat(await Array.fromAsync(applyPatch([zstdCompressSync(steps(count))], oldOf(old), most)));
    expect(await made(11, 10)).toHaveLength(11);
    const refused: unknown = await made(12, 10).catch((error: unknown) => error);
    expect(refused).toMatchObject({
      code: 'DELTA_INVALID',
      message: expect.stringContaining('more than 10 steps'),
    });
    // How many there may be follows from what they make.
    await expect(made(1500)).rejects.toMatchObject({
      message: expect.stringContaining('more than 1117 steps') as string,
    });
  });

  it('findCopies covers each byte of the new content once, as a literal or as a copy', () => {
    fc.assert(
      fc.property(pairs, ({ old, fresh }) => {
        let at = 0;
        for (const step of findCopies(old, fresh)) {
          expect(step.at).toBe(at);
          at += step.literal + step.copied;
          const copy = old.subarray(step.from, step.from + step.copied);
          expect(copy.equals(fresh.subarray(at - step.copied, at))).toBe(true);
        }
        expect(at).toBe(fresh.length);
      }),
      { numRuns: runs(100) },
    );
  });
});

describe('a damaged or hostile patch', () => {
  const old = noise(3000);
  const fresh = Buffer.concat([old.subarray(500), Buffer.from('and an end'), old.subarray(0, 500)]);

  let said = '';
  /** What came out, or the code it was refused with. */
  const outcome = async (patch: Uint8Array, from = old): Promise<string> => {
    try {
      return (await apply(patch, from)).equals(fresh) ? 'right' : 'wrong';
    } catch (error) {
      if (!isFleetError(error)) throw error;
      said = error.message;
      return error.code;
    }
  };

  it('is refused when it is truncated, or when a changed byte changes its result', async () => {
    const { bytes } = (await createPatch(old, fresh, NO_LIMIT)) ?? { bytes: Buffer.alloc(0) };
    expect(await outcome(bytes)).toBe('right');
    for (let at = 7; at < bytes.length; at += 7) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] as number) ^ 0x41;
      // What zstd does not look at may change: the frame's check sum is for what it holds.
      expect(['DELTA_INVALID', 'right']).toContain(await outcome(changed));
      expect(await outcome(bytes.subarray(0, at - 4))).toBe('DELTA_INVALID');
    }
  });

  it('is refused for a changed instruction inside a valid zstd frame, or makes content with another digest', async () => {
    const { bytes } = (await createPatch(old, fresh, NO_LIMIT)) ?? { bytes: Buffer.alloc(0) };
    const inside = zstdDecompressSync(bytes);
    await fc.assert(
      fc.asyncProperty(fc.nat(inside.length - 1), fc.integer({ min: 1, max: 255 }), async (at, flip) => {
        const changed = Buffer.from(inside);
        changed[at] = (changed[at] as number) ^ flip;
        // Told bytes may differ: then the digest of the blob does. Anything else is refused here.
        expect(['DELTA_INVALID', 'wrong']).toContain(await outcome(zstdCompressSync(changed)));
      }),
      { numRuns: runs(200) },
    );
    expect(await outcome(zstdCompressSync(Buffer.concat([inside, Buffer.from('x')])))).toBe('DELTA_INVALID');
    expect(await outcome(zstdCompressSync(Buffer.from('something else')))).toBe('DELTA_INVALID');
    expect(await outcome(Buffer.from('no zstd'))).toBe('DELTA_INVALID');
    expect(await outcome(bytes, old.subarray(1))).toBe('DELTA_INVALID');
  });

  it("is refused before its first byte when the blob's known size does not match", async () => {
    const pairsOf = [
      [old, fresh, [fresh.length - 1, fresh.length + 1, 0]],
      [gzipFixed(old), gzipFixed(Buffer.alloc(200_000, 'ab')), [190]],
    ] as const;
    for (const [before, after, wrong] of pairsOf) {
      const { bytes } = (await createPatch(before, after, NO_LIMIT)) ?? { bytes: Buffer.alloc(0) };
      for (const size of [...wrong, after.length]) {
        const read = () => {
          throw new Error('read');
        };
        const made = applyPatch([bytes], { size: old.length, read }, undefined, size).next();
        const said = await made.then(
          () => 'made',
          (error: Error) => error.message,
        );
        if (size === after.length) expect(said).toMatch(/^read|made$/);
        else expect(said).toMatch(/cannot be a blob of/);
      }
    }
  });

  it('is refused before its first byte when it announces more output than the limit', async () => {
    const head = [Buffer.from('fleet-ferry delta 1\n'), Buffer.from([0]), encodeVarint(old.length)];
    const bomb = Buffer.concat([...head, encodeVarint(MAX_UNCOMPRESSED + 1), encodeVarint(0)]);
    expect(await outcome(zstdCompressSync(bomb))).toBe('DELTA_INVALID');
    // The slower zlib packs at a level, the less it is asked to.
    const packed = (level: number, size: number): Promise<string> =>
      outcome(
        zstdCompressSync(
          Buffer.concat([
            Buffer.from('fleet-ferry delta 1\n'),
            Buffer.from([level, 31, 139, 8, 0, 0, 0, 0, 0, 0, 3]),
            encodeVarint(old.length),
            encodeVarint(size),
          ]),
        ),
      );
    expect(await packed(9, (16 << 20) + 1)).toBe('DELTA_INVALID');
    expect(said).toContain('more than 16777216 bytes');
    expect(await packed(9, 16 << 20)).toBe('DELTA_INVALID');
    expect(said).toContain('ends early');
    // Steps that make nothing would go on for ever.
    const idle = Buffer.concat([...head, encodeVarint(10), Buffer.alloc(1000)]);
    expect(await outcome(zstdCompressSync(idle))).toBe('DELTA_INVALID');
  });
});
