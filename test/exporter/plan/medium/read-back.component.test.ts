import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { digestOf } from '#bundles/digest';
import { holds, holdsSpan, readBack } from '../../../../exporter/plan/medium/read-back.ts';
import { runs } from '../../../harness/run/long.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';

describe('reading back', () => {
  it.each([0, 1, 4096, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3_333_333])(
    'returns every byte of a file of %d bytes in order',
    async (size) => {
      await using folder = await temporaryDirectory('read-back');
      const path = join(folder.path, 'file');
      const bytes = Buffer.alloc(size, 'some text of an odd length ');
      await writeFile(path, bytes);
      const copies: Buffer[] = [];
      for await (const chunk of readBack(path, { offset: 0, size })) copies.push(Buffer.from(chunk));
      expect(Buffer.concat(copies).equals(bytes)).toBe(true);
      expect(await holds(path, size, digestOf(bytes))).toBe(true);
    },
  );

  it('detects another size, other content and a missing file', async () => {
    await using folder = await temporaryDirectory('read-back');
    const path = join(folder.path, 'file');
    await writeFile(path, 'abc');
    expect(await holds(path, 4, digestOf('abc'))).toBe(false);
    expect(await holds(path, 3, digestOf('abd'))).toBe(false);
    expect(await holds(join(folder.path, 'none'), 3, digestOf('abc'))).toBe(false);
    expect(await holds(folder.path, 4096, digestOf('abc'))).toBe(false);
  });

  it('can be stopped half-way and repeated, several times in parallel', async () => {
    await using folder = await temporaryDirectory('read-back');
    const path = join(folder.path, 'file');
    const bytes = Buffer.alloc(5 << 20, 'x');
    await writeFile(path, bytes);
    for await (const _ of readBack(path, { offset: 0, size: bytes.byteLength })) break;
    const found = await Promise.all([1, 2, 3].map(() => holds(path, bytes.byteLength, digestOf(bytes))));
    expect(found).toEqual([true, true, true]);
  });

  it('returns any range of any file up to its end, from the device and from the page cache', async () => {
    await using folder = await temporaryDirectory('read-back');
    const path = join(folder.path, 'file');
    const whole = Buffer.alloc((2 << 20) + 9000);
    for (let at = 0; at + 4 <= whole.byteLength; at += 4) whole.writeUInt32LE(at, at);
    // Near the ends of pages, of buffers and of the file.
    const place = fc
      .tuple(
        fc.constantFrom(0, 4096, 8192, 1 << 20, 2 << 20, (2 << 20) + 8192),
        fc.integer({ min: -5, max: 5 }),
      )
      .map(([near, off]) => Math.max(0, near + off));
    const some = fc.oneof(place, fc.integer({ min: 0, max: whole.byteLength + 5000 }));
    const property = fc.asyncProperty(some, some, some, fc.boolean(), async (length, offset, size, past) => {
      const bytes = whole.subarray(0, length);
      await writeFile(path, bytes);
      const wanted = bytes.subarray(offset, offset + size);
      const copies: Buffer[] = [];
      for await (const chunk of readBack(path, { offset, size }, { past })) copies.push(Buffer.from(chunk));
      expect(Buffer.concat(copies).equals(wanted)).toBe(true);
      const span = { path, offset, size, digest: digestOf(wanted), whole: false };
      expect(await holdsSpan(span, { past })).toBe(wanted.byteLength === size);
      expect(await holdsSpan({ ...span, digest: digestOf('other') }, { past })).toBe(false);
    });
    await fc.assert(property, { numRuns: runs(60) });
  });
});
