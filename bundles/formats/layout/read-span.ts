import { type FileHandle, open } from 'node:fs/promises';
import type { RandomAccess } from '../archive/random-access.ts';
import { FleetError, toFleetError } from '../../errors.ts';
import { CHUNK, takeBuffer } from './chunk-buffers.ts';

export type Span = { readonly offset: number; readonly size: number };

export type ReadOptions = { readonly signal?: AbortSignal | undefined };

/**
 * Streams a part of a file. The next chunk is read while the caller processes the current one. A caller that needs a chunk
 * no longer may release its buffer (`releaseBuffer`).
 * @param name for messages: 'the medium /media/stick.tar'
 * @throws FleetError TRUNCATED when the file ends earlier, IO
 */
export async function* readSpan(
  handle: Pick<RandomAccess, 'read'>,
  { offset, size }: Span,
  name: string,
  { signal }: ReadOptions = {},
): AsyncGenerator<Uint8Array> {
  let done = 0;
  const read = async (): Promise<Uint8Array | undefined> => {
    if (done === size) return undefined;
    signal?.throwIfAborted();
    const length = Math.min(CHUNK, size - done);
    const buffer = takeBuffer(length);
    const { bytesRead } = await handle.read(buffer, 0, length, offset + done).catch((error: unknown) => {
      // The system's message does not name the file.
      throw toFleetError(error, `reading ${name}`);
    });
    if (bytesRead === 0)
      throw new FleetError('TRUNCATED', `${name} ends ${size - done} bytes before a file does`);
    done += bytesRead;
    return buffer.subarray(0, bytesRead);
  };
  let next = read();
  try {
    for (let chunk = await next; chunk; chunk = await next) {
      next = read();
      // The loop throws the error when it awaits this read.
      next.catch(() => {});
      yield chunk;
    }
  } finally {
    await next.catch(() => {});
  }
}

/**
 * Streams a whole file. It is opened by the first read, so that an unread stream holds no file open.
 * @param openFile returns undefined, or fails with ENOENT, when the file has been removed since the caller found it
 */
export async function* readWhole(
  path: string,
  options: ReadOptions = {},
  openFile: () => Promise<FileHandle | undefined> = () => open(path, 'r'),
): AsyncGenerator<Uint8Array> {
  options.signal?.throwIfAborted();
  const handle = await openFile().catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') throw gone(path, error);
    throw toFleetError(error, `reading ${path}`);
  });
  if (!handle) throw gone(path);
  try {
    const { size } = await handle.stat();
    yield* readSpan(handle, { offset: 0, size }, path, options);
  } finally {
    await handle.close();
  }
}

const gone = (path: string, cause?: unknown): FleetError =>
  new FleetError('IO', `${path} is not there any more`, { cause });
