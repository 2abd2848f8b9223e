import { constants } from 'node:fs';
import { type FileHandle, open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { BLOCK, giveMemory, PAGE, takeMemory } from '../../../../exporter/write/device/page-memory.ts';
import { pieceWriter } from '../../../../exporter/write/device/piece-writer.ts';
import { temporaryDirectory } from '../../../harness/temporary-directory.ts';

type Write = FileHandle['write'];
type Way = Pick<FileHandle, 'write'>;

const refusing = (code: string): Way => ({
  write: async () => {
    throw Object.assign(new Error(`${code}: no`), { code });
  },
});

/** A way that takes at most so much at once and, as direct ones do, only at the beginning of a page. */
const taking = (file: FileHandle, most: number): Way => ({
  write: (async (bytes: Uint8Array, offset: number, length: number, position: number) => {
    if (position % PAGE !== 0) throw Object.assign(new Error('EINVAL: off a page'), { code: 'EINVAL' });
    return await file.write(bytes, offset, Math.min(most, length), position);
  }) as unknown as Write,
});

const write = async (path: string, size: number, ways: (file: FileHandle) => Way | undefined) => {
  const memory = takeMemory();
  const bytes = Buffer.from(memory.blocks[0].buffer, memory.blocks[0].byteOffset, size);
  for (let at = 0; at + 4 <= size; at += 4) bytes.writeUInt32LE(at, at);
  const file = await open(path, 'wx');
  const put = pieceWriter({ file, direct: ways(file) }, 0);
  try {
    await put(bytes.subarray(0, 2 * PAGE));
    await put(bytes.subarray(0, 0));
    await put(bytes.subarray(2 * PAGE));
  } finally {
    await file.close();
    giveMemory(memory);
  }
  return Buffer.from(bytes);
};

const SIZE = BLOCK - 1000;

describe('pieces written by two ways', () => {
  it.each([
    { what: 'takes all', ways: (file: FileHandle) => taking(file, SIZE) },
    { what: 'takes a few pages at once', ways: (file: FileHandle) => taking(file, 3 * PAGE) },
    { what: 'takes a part of a page, and then no more', ways: (file: FileHandle) => taking(file, 5000) },
    { what: 'takes nothing, as it is not for this file system', ways: () => refusing('EINVAL') },
    { what: 'is not there', ways: () => undefined },
  ])('are in the file when the direct one $what', async ({ ways }) => {
    await using folder = await temporaryDirectory('piece-writer');
    const path = join(folder.path, 'file');
    const bytes = await write(path, SIZE, ways);
    expect((await readFile(path)).equals(bytes)).toBe(true);
  });

  it('are in the file by the real one', async () => {
    await using folder = await temporaryDirectory('piece-writer');
    const path = join(folder.path, 'file');
    await using direct = await open(path, constants.O_WRONLY | constants.O_CREAT | constants.O_DIRECT).catch(
      () => undefined,
    );
    const other = join(folder.path, 'other');
    const bytes = await write(other, SIZE, () => undefined);
    const memory = takeMemory();
    memory.blocks[0].set(bytes);
    await using file = await open(path, 'r+');
    await pieceWriter({ file, direct }, 0)(memory.blocks[0].subarray(0, SIZE));
    giveMemory(memory);
    expect((await readFile(path)).equals(bytes)).toBe(true);
  });

  it('end with what the direct one says of a full disk', async () => {
    await using folder = await temporaryDirectory('piece-writer');
    await expect(write(join(folder.path, 'file'), SIZE, () => refusing('ENOSPC'))).rejects.toThrow('ENOSPC');
  });
});
