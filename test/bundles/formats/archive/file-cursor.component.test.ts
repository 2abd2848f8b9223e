import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fileCursor } from '../../../../bundles/formats/archive/file-cursor.ts';
import { readTar } from '../../../../bundles/formats/archive/read-tar.ts';
import { rawHeader, rawTar } from './raw-tar.ts';
import { collect, readAll, streamOf, verdict } from './streams.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'file-cursor-'));
});
afterAll(() => rm(folder, { recursive: true }));

const withFile = async <T>(use: (handle: FileHandle) => Promise<T>): Promise<T> => {
  await using handle = await open(join(folder, 'medium.tar'), 'w+');
  return await use(handle);
};
const limits = { maxEntries: 100 };

test('readTar returns the same items from a file as from a stream of its bytes', async () => {
  const tar = rawTar(
    [0, 1, 511, 512, 4000, 70_000, 200_000].map((size) => ({
      name: `f${size}`,
      content: Buffer.alloc(size, 'x'),
    })),
  );
  await withFile(async (handle) => {
    await handle.write(tar);
    expect(await readAll(fileCursor(handle, tar.length))).toEqual(await readAll(streamOf(tar)));
    const big: Buffer[] = [];
    for await (const { path, content } of readTar(fileCursor(handle, tar.length), limits)) {
      if (path === 'f70000') big.push(await collect(content));
    }
    expect(big).toEqual([Buffer.alloc(70_000, 'x')]);
  });
});

test('readTar skips unread content of a file without reading it from disk', async () => {
  const size = 2 ** 30;
  const header = (name: string) => rawHeader({ name, size: `${size.toString(8).padStart(11, '0')}\0` });
  await withFile(async (handle) => {
    // Sparse: a gigabyte of nothing for each of two entries, the same zeros as the end marker.
    await handle.write(header('a'), 0, 512, 0);
    await handle.write(header('b'), 0, 512, 512 + size);
    await handle.truncate(2 * (512 + size) + 1024);
    let bytesRead = 0;
    const counting = {
      read: async (...request: [Buffer, number, number, number]) => {
        const result = await handle.read(...request);
        bytesRead += result.bytesRead;
        return result;
      },
    };
    const offsets: [string, number][] = [];
    const cursor = fileCursor(counting as unknown as FileHandle, 2 * (512 + size) + 1024);
    for await (const { path, offset } of readTar(cursor, limits)) offsets.push([path, offset]);
    expect(offsets).toEqual([
      ['a', 512],
      ['b', size + 1024],
    ]);
    expect(bytesRead).toBeLessThan(20_000);
  });
});

test('TRUNCATED: a file that ends inside an entry whose content is skipped', async () => {
  const tar = rawTar([{ name: 'a', content: Buffer.alloc(100_000, 'x') }]).subarray(0, 90_000);
  await withFile(async (handle) => {
    await handle.write(tar);
    const skim = async () => {
      for await (const item of readTar(fileCursor(handle, tar.length), limits)) expect(item.path).toBe('a');
    };
    expect(await verdict(skim)).toBe('TRUNCATED');
  });
});

test('TRUNCATED: a file that became shorter after its size was read', async () => {
  const tar = rawTar([{ name: 'a', content: Buffer.alloc(100_000, 'x') }]);
  await withFile(async (handle) => {
    await handle.write(tar.subarray(0, 50_000));
    expect(await verdict(() => readAll(fileCursor(handle, tar.length)))).toBe('TRUNCATED');
  });
});
