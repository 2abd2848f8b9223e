import { createHash } from 'node:crypto';
import { type FileHandle, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { writeAll } from '#bundles/formats/layout/write-behind';
import { holds } from '../../../../exporter/plan/medium/read-back.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';
import { meddle } from '../meddle.ts';

type File = Pick<FileHandle, 'writev'>;

describe('a file system with unusual behaviour', () => {
  it('that writes nothing without an error ends the writing with EIO', async () => {
    let asked = 0;
    const nothing: File = {
      writev: (async () => {
        asked += 1;
        if (asked > 100) throw new Error('asked again and again');
        return { bytesWritten: 0, buffers: [] };
      }) as unknown as FileHandle['writev'],
    };
    await expect(writeAll(nothing, [new Uint8Array(4096)])).rejects.toMatchObject({ code: 'EIO' });
  });

  it('that writes a few bytes at a time gets the others again', async () => {
    const taken: Buffer[] = [];
    const slow: File = {
      writev: (async (chunks: readonly Uint8Array[]) => {
        const some = Buffer.concat(chunks).subarray(0, 7);
        taken.push(Buffer.from(some));
        return { bytesWritten: some.byteLength, buffers: chunks };
      }) as unknown as FileHandle['writev'],
    };
    const chunks = [3, 0, 4, 10, 1, 1, 20].map((size, index) => Buffer.alloc(size, index + 1));
    await writeAll(slow, chunks);
    expect(Buffer.concat(taken).equals(Buffer.concat(chunks))).toBe(true);
  });

  it('that refuses a direct read in the middle of a file is read through the page cache', async () => {
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
