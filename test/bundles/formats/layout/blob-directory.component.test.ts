import { createHook } from 'node:async_hooks';
import { createReadStream } from 'node:fs';
import { chmod, mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { digestOf, hexOf } from '#bundles/digest';
import { openBlobDirectory } from '#bundles/formats/layout/blob-directory';
import { CHUNK } from '#bundles/formats/layout/chunk-buffers';
import { runOrFail } from '../../../harness/run/run-command.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';
import { collect, streamOf } from '../archive/streams.ts';
import { verdict } from '../../verdict.ts';

const content = Buffer.from('content');
const digest = digestOf(content);

describe.each(['pooled', 'direct'] as const)('a blob directory, %s', (way) => {
  const openBlobs = (folder: string) => openBlobDirectory(folder, folder, way);

  it('stores bytes under their digest and returns them', async () => {
    await using folder = await temporaryDirectory();
    const blobs = openBlobs(folder.path);
    expect([await blobs.size(digest), await blobs.list()]).toEqual([undefined, []]);
    await blobs.write(digest, content.length, streamOf(content, [2]));
    expect([await blobs.size(digest), await blobs.list()]).toEqual([content.length, [digest]]);
    expect(await collect(await blobs.open(digest))).toEqual(content);
    expect(blobs.path(digest)).toBe(join(folder.path, 'blobs/sha256', hexOf(digest)));
    await blobs.remove(digest);
    await blobs.remove(digest);
    expect(await blobs.list()).toEqual([]);
    expect(await verdict(() => blobs.open(digest))).toBe('MISSING_BLOB');
  });

  it.each([
    ['DIGEST_MISMATCH', Buffer.from('CONTENT')],
    ['SIZE_MISMATCH', Buffer.from('content and more')],
    ['SIZE_MISMATCH', Buffer.from('con')],
  ])('stores nothing under a digest that the content does not have: %s', async (code, bytes) => {
    await using folder = await temporaryDirectory();
    const blobs = openBlobs(folder.path);
    expect(await verdict(() => blobs.write(digest, content.length, bytes))).toBe(code);
    expect(await readdir(join(folder.path, 'blobs/sha256'))).toEqual([]);
  });

  it('rewrites a truncated blob, and does not read complete ones', async () => {
    await using folder = await temporaryDirectory();
    const blobs = openBlobs(folder.path);
    await mkdir(join(folder.path, 'blobs/sha256'), { recursive: true });
    await writeFile(blobs.path(digest), 'cont');
    await blobs.write(digest, content.length, content);
    expect(await collect(await blobs.open(digest))).toEqual(content);
    const unread = createReadStream(blobs.path(digest));
    await blobs.write(digest, content.length, unread);
    expect({ destroyed: unread.destroyed, bytesRead: unread.bytesRead }).toEqual({
      destroyed: true,
      bytesRead: 0,
    });
  });

  it('ignores an open error of an input stream that it does not need', async () => {
    await using folder = await temporaryDirectory();
    const blobs = openBlobs(folder.path);
    await blobs.write(digest, content.length, content);
    const unneeded = createReadStream(join(folder.path, 'removed'));
    const closed = new Promise<void>((resolve) => unneeded.once('close', () => resolve()));
    await blobs.write(digest, content.length, unneeded);
    // An error that nobody listens to would end the process here.
    await closed;
  });

  it('stops when the signal aborts, before or during a write, and leaves no file', async () => {
    await using folder = await temporaryDirectory();
    const blobs = openBlobs(folder.path);
    const controller = new AbortController();
    async function* slow() {
      yield content.subarray(0, 3);
      controller.abort();
      yield content.subarray(3);
    }
    expect(await verdict(() => blobs.write(digest, content.length, slow(), controller.signal))).toBe(
      'ABORTED',
    );
    expect(await verdict(() => blobs.write(digest, content.length, content, controller.signal))).toBe(
      'ABORTED',
    );
    expect(await blobs.list()).toEqual([]);
  });

  it('reports an abort only to the reader whose signal it is', async () => {
    await using folder = await temporaryDirectory();
    const blobs = openBlobs(folder.path);
    await blobs.write(digest, content.length, content);
    const controller = new AbortController();
    const early = await blobs.open(digest, controller.signal);
    controller.abort();
    const late = await blobs.open(digest, controller.signal);
    // An error that nobody listens to would end the process here.
    await nextTurn();
    await expect(collect(early)).rejects.toThrow(/abort/);
    await expect(collect(late)).rejects.toThrow(/abort/);
  });

  it('lists blobs only, and opens no folder or device under a blob name', async () => {
    await using folder = await temporaryDirectory();
    const blobs = openBlobs(folder.path);
    await blobs.write(digest, content.length, content);
    await writeFile(join(folder.path, 'blobs/sha256/.tmp-12345678'), 'rest');
    await symlink('/dev/zero', blobs.path(digestOf('device')));
    await mkdir(blobs.path(digestOf('folder')));
    expect(await blobs.size(digestOf('device'))).toBeUndefined();
    expect(await blobs.size(digestOf('folder'))).toBeUndefined();
    expect(await blobs.list()).toContain(digest);
    expect(await blobs.list()).toHaveLength(3);
  });

  it('refuses a write without permission: PERMISSION', async () => {
    await using folder = await temporaryDirectory();
    await chmod(folder.path, 0o500);
    // Root may write everywhere but where the kernel itself says no.
    const blobs = openBlobs(process.getuid?.() === 0 ? '/sys/kernel' : folder.path);
    expect(await verdict(() => blobs.write(digest, content.length, content))).toBe('PERMISSION');
    await chmod(folder.path, 0o700);
  });
});

describe('a blob directory that is read directly', () => {
  const openBlobs = (folder: string) => openBlobDirectory(folder, folder, 'direct');

  it('does not wait for a pipe under a blob name', async () => {
    await using folder = await temporaryDirectory();
    const blobs = openBlobs(folder.path);
    await blobs.write(digest, content.length, content);
    const pipe = blobs.path(digestOf('pipe'));
    await runOrFail(['mkfifo', pipe]);
    expect(await blobs.size(digestOf('pipe'))).toBeUndefined();
    await blobs.open(digestOf('pipe'));
  });

  it('streams a blob of more than a chunk', async () => {
    await using folder = await temporaryDirectory();
    const blobs = openBlobs(folder.path);
    const large = Buffer.alloc(CHUNK + 1, 'x');
    await blobs.write(digestOf(large), large.length, large);
    const chunks = await Array.fromAsync(await blobs.open(digestOf(large)));
    expect(chunks.map(({ byteLength }) => byteLength)).toEqual([CHUNK, 1]);
  });

  it('lets other work run between two reads of many', async () => {
    await using folder = await temporaryDirectory();
    const blobs = openBlobs(folder.path);
    await blobs.write(digest, content.length, content);
    let turns = 0;
    const timer = setInterval(() => (turns += 1), 0);
    for (let read = 0; read < 2000; read += 1) await blobs.size(digest);
    clearInterval(timer);
    expect(turns).toBeGreaterThan(0);
  });
});

it.runIf(process.platform === 'linux')(
  'a direct blob directory uses no thread pool for sizes and small blobs, also where its first write created the folder',
  async () => {
    await using folder = await temporaryDirectory();
    const blobs = openBlobDirectory(folder.path, folder.path, 'direct');
    await blobs.write(digest, content.length, content);
    await blobs.size(digest);
    let requests = 0;
    const hook = createHook({
      init: (_id, type) => {
        if (type === 'FSREQPROMISE') requests += 1;
      },
    }).enable();
    try {
      expect(await blobs.size(digest)).toBe(content.length);
      expect(await collect(await blobs.open(digest))).toEqual(content);
    } finally {
      hook.disable();
    }
    expect(requests).toBe(0);
  },
);
