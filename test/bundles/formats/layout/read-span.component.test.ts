import { createHash, randomBytes } from 'node:crypto';
import { readdirSync, readlinkSync } from 'node:fs';
import { open, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openBlobDirectory } from '../../../../bundles/formats/layout/blob-directory.ts';
import { readSpan, readWhole } from '../../../../bundles/formats/layout/read-span.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';

const BYTES = randomBytes(3 * (1 << 20) + 77);

const hashOf = async (content: AsyncIterable<Uint8Array>): Promise<string> => {
  const hash = createHash('sha256');
  for await (const chunk of content) hash.update(chunk);
  return hash.digest('hex');
};
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

test('readSpan reads any part of a file, and fails with TRUNCATED past the end', async () => {
  await using folder = await temporaryDirectory('read-span');
  const path = join(folder.path, 'file');
  await writeFile(path, BYTES);
  await using handle = await open(path, 'r');
  for (const [offset, size] of [
    [0, BYTES.length],
    [5, 1 << 20],
    [7, 0],
    [BYTES.length - 1, 1],
  ] as const) {
    const want = sha256(BYTES.subarray(offset, offset + size));
    expect(await hashOf(readSpan(handle, { offset, size }, 'it'))).toBe(want);
  }
  await expect(hashOf(readSpan(handle, { offset: 9, size: BYTES.length }, 'it'))).rejects.toMatchObject({
    code: 'TRUNCATED',
  });
});

test('readWhole copies every byte while writes and reads overlap', async () => {
  await using folder = await temporaryDirectory('read-span');
  const path = join(folder.path, 'file');
  await writeFile(path, BYTES);
  const store = openBlobDirectory(join(folder.path, 'store'));
  const digest = `sha256:${sha256(BYTES)}` as const;
  await store.write(digest, BYTES.length, readWhole(path));
  expect(sha256(await readFile(store.path(digest)))).toBe(sha256(BYTES));
});

test('readWhole closes its file when the reader ends early or is aborted', async () => {
  await using folder = await temporaryDirectory('read-span');
  const path = join(folder.path, 'file');
  await writeFile(path, BYTES);
  for await (const chunk of readWhole(path)) {
    expect(chunk.byteLength).toBeGreaterThan(0);
    break;
  }
  const stop = new AbortController();
  const reading = readWhole(path, { signal: stop.signal });
  await reading.next();
  stop.abort();
  await expect(Array.fromAsync(reading)).rejects.toThrow('aborted');
  const links = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`);
    } catch {
      return '';
    }
  });
  expect(links.filter((link) => link === path)).toEqual([]);
});
