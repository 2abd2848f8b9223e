import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { digestOf } from '#bundles/digest';
import { holds, readBack } from '../../../exporter/write/read-back.ts';
import { temporaryDirectory } from '../../harness/temporary-directory.ts';

describe('reading back', () => {
  it.each([0, 1, 4096, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, 3_333_333])(
    'gives every byte of a file of %d bytes, in order',
    async (size) => {
      await using folder = await temporaryDirectory('read-back');
      const path = join(folder.path, 'file');
      const bytes = Buffer.alloc(size, 'some text of an odd length ');
      await writeFile(path, bytes);
      const copies: Buffer[] = [];
      for await (const chunk of readBack(path)) copies.push(Buffer.from(chunk));
      expect(Buffer.concat(copies).equals(bytes)).toBe(true);
      expect(await holds(path, size, digestOf(bytes))).toBe(true);
    },
  );

  it('tells another size, other content and a missing file', async () => {
    await using folder = await temporaryDirectory('read-back');
    const path = join(folder.path, 'file');
    await writeFile(path, 'abc');
    expect(await holds(path, 4, digestOf('abc'))).toBe(false);
    expect(await holds(path, 3, digestOf('abd'))).toBe(false);
    expect(await holds(join(folder.path, 'none'), 3, digestOf('abc'))).toBe(false);
    expect(await holds(folder.path, 4096, digestOf('abc'))).toBe(false);
  });

  it('can be left half-way and begun again, several at a time', async () => {
    await using folder = await temporaryDirectory('read-back');
    const path = join(folder.path, 'file');
    const bytes = Buffer.alloc(5 << 20, 'x');
    await writeFile(path, bytes);
    for await (const _ of readBack(path)) break;
    const found = await Promise.all([1, 2, 3].map(() => holds(path, bytes.byteLength, digestOf(bytes))));
    expect(found).toEqual([true, true, true]);
  });
});
