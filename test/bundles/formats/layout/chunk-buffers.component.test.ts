import { createHash, randomBytes } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { openBlobDirectory } from '../../../../bundles/formats/layout/blob-directory.ts';
import { CHUNK, releaseBuffer, takeBuffer } from '../../../../bundles/formats/layout/chunk-buffers.ts';
import { readWhole } from '../../../../bundles/formats/layout/read-span.ts';
import { verifyAll } from '../../../../bundles/formats/layout/verified.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';

test('blobs that are copied and verified side by side keep their bytes, in buffers that others released', async () => {
  await using folder = await temporaryDirectory('chunk-buffers');
  const store = openBlobDirectory(join(folder.path, 'store'));
  const kept = [takeBuffer(CHUNK).fill(7), takeBuffer(CHUNK).fill(8)];
  const copies = Array.from({ length: 8 }, async (_, at) => {
    const bytes = randomBytes(at * CHUNK + (at % 3));
    const digest = `sha256:${createHash('sha256').update(bytes).digest('hex')}` as const;
    const path = join(folder.path, `blob-${at}`);
    await writeFile(path, bytes);
    await store.write(digest, bytes.length, readWhole(path));
    await verifyAll({ digest, size: bytes.length }, await store.open(digest), 'the store');
    expect((await readFile(store.path(digest))).equals(bytes)).toBe(true);
  });
  await Promise.all(copies);
  expect(kept.map((buffer) => buffer.every((byte) => byte === buffer[0]))).toEqual([true, true]);
});

test('the buffer of a whole chunk is used again after it was released, once; a piece of one or a buffer of others is not', () => {
  const chunk = takeBuffer(CHUNK);
  releaseBuffer(chunk.subarray(0, 9));
  expect(takeBuffer(CHUNK).buffer).not.toBe(chunk.buffer);
  releaseBuffer(chunk);
  releaseBuffer(chunk);
  expect(takeBuffer(CHUNK).buffer).toBe(chunk.buffer);
  expect(takeBuffer(CHUNK).buffer).not.toBe(chunk.buffer);
  const ofOthers = Buffer.alloc(CHUNK);
  releaseBuffer(ofOthers);
  expect(takeBuffer(CHUNK).buffer).not.toBe(ofOthers.buffer);
});

test('an idle process keeps no released buffers', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const held = (): number => {
    collect();
    return process.memoryUsage().arrayBuffers;
  };
  for (const buffer of Array.from({ length: 8 }, () => takeBuffer(CHUNK))) releaseBuffer(buffer);
  // A buffer lives at least to the end of the turn in which it was released.
  await setImmediate();
  const before = held();
  const taken = Array.from({ length: 8 }, () => takeBuffer(CHUNK));
  expect(held() - before).toBeGreaterThan(7 * CHUNK);
  expect(taken).toHaveLength(8);
});
