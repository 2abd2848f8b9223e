import type { FileHandle } from 'node:fs/promises';
import { sum } from '../../sum.ts';
import { releaseBuffer } from './chunk-buffers.ts';

/** Most bytes and chunks of one write: a socket delivers 64 KiB at a time, and batches save system calls. */
const BATCH_BYTES = 1 << 20;
const BATCH_CHUNKS = 64;

/**
 * Writes one batch of chunks while the next one is read and hashed. A chunk must stay valid until it is written, and its buffer is released then.
 * @throws the error of `content` or `write`, after the last write has ended
 */
export const writeBehind = async (
  content: AsyncIterable<Uint8Array>,
  write: (chunks: readonly Uint8Array[]) => Promise<void>,
): Promise<void> => {
  let writing = Promise.resolve();
  let batch: Uint8Array[] = [];
  let bytes = 0;
  const next = async (): Promise<void> => {
    await writing;
    writing = writeAndRelease(write, batch);
    // A failure is thrown with the next batch, or after the last.
    writing.catch(() => {});
    [batch, bytes] = [[], 0];
  };
  try {
    for await (const chunk of content) {
      batch.push(chunk);
      bytes += chunk.byteLength;
      if (bytes >= BATCH_BYTES || batch.length === BATCH_CHUNKS) await next();
    }
    if (bytes > 0) await next();
  } catch (error) {
    // What arrived is written, because a caller may continue the file. The caller closes it.
    await writing.then(() => (bytes > 0 ? write(batch) : undefined)).catch(() => {});
    throw error;
  }
  await writing;
};

const writeAndRelease = async (
  write: (chunks: readonly Uint8Array[]) => Promise<void>,
  chunks: readonly Uint8Array[],
): Promise<void> => {
  await write(chunks);
  for (const chunk of chunks) releaseBuffer(chunk);
};

/** Bytes after which the disk begins to write: it works while the rest arrives, and the last sync waits for little. */
const FLUSH_BYTES = 32 << 20;

/** Writes content to an empty file and makes it durable. @throws the error of `content`, or of the first write or sync that failed */
export const writeDurably = async (file: FileHandle, content: AsyncIterable<Uint8Array>): Promise<void> => {
  let unflushed = 0;
  let flushing: Promise<void> | undefined;
  let failure: { readonly error: unknown } | undefined;
  // The system tells of a failed sync once, so the last one would not repeat it.
  const flush = async (): Promise<void> => {
    try {
      await file.datasync();
    } catch (error) {
      failure ??= { error };
    }
    flushing = undefined;
  };
  try {
    await writeBehind(content, async (chunks) => {
      if (failure) throw failure.error;
      await writeAll(file, chunks);
      unflushed += sum(chunks.map(({ byteLength }) => byteLength));
      if (unflushed < FLUSH_BYTES || flushing) return;
      unflushed = 0;
      flushing = flush();
    });
  } finally {
    await flushing;
  }
  if (failure) throw failure.error;
  await file.sync();
};

/** Writes all bytes at the current position of the file. @throws EIO for a write that takes no bytes: retrying it would loop forever */
export const writeAll = async (
  file: Pick<FileHandle, 'writev'>,
  chunks: readonly Uint8Array[],
): Promise<void> => {
  const left = chunks.filter(({ byteLength }) => byteLength > 0);
  while (left.length > 0) {
    let { bytesWritten: taken } = await file.writev(left);
    if (taken === 0) throw Object.assign(new Error('EIO: a write took no bytes'), { code: 'EIO' });
    while (left[0] && taken >= left[0].byteLength) taken -= left.shift()?.byteLength ?? 0;
    if (left[0]) left[0] = left[0].subarray(taken);
  }
};
