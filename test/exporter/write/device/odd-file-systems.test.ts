import { createHash } from 'node:crypto';
import { type FileHandle, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PAGE } from '../../../../exporter/write/device/page-memory.ts';
import { pieceWriter } from '../../../../exporter/write/device/piece-writer.ts';
import { holds } from '../../../../exporter/write/device/read-back.ts';
import { temporaryDirectory } from '../../../harness/temporary-directory.ts';
import { meddle } from '../meddle.ts';

type Way = Pick<FileHandle, 'write'>;

describe('a file system that does what it should not', () => {
  it('takes nothing and says no error: the writing ends', async () => {
    let asked = 0;
    const nothing: Way = {
      write: (async () => {
        asked += 1;
        if (asked > 100) throw new Error('asked again and again');
        return { bytesWritten: 0, buffer: new Uint8Array() };
      }) as unknown as FileHandle['write'],
    };
    const put = pieceWriter({ file: nothing, direct: undefined }, 0);
    await expect(put(new Uint8Array(PAGE))).rejects.toMatchObject({ code: 'EIO' });
  });

  it('refuses a direct read in the middle of a file: it is read as usual', async () => {
    await using folder = await temporaryDirectory('odd-file-systems');
    const path = join(folder.path, 'file');
    const bytes = Buffer.alloc(3 << 20, 'abc');
    await writeFile(path, bytes);
    let reads = 0;
    const read = async (): Promise<void> => {
      reads += 1;
      if (reads === 3) throw Object.assign(new Error('EINVAL: invalid argument, read'), { code: 'EINVAL' });
    };
    const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}` as const;
    expect(await meddle({ read }, () => holds(path, bytes.byteLength, digest))).toBe(true);
  });
});
