import { type FileHandle, open } from 'node:fs/promises';
import type { RandomAccess } from '../archive/random-access.ts';
import { FleetError, toFleetError } from '../errors.ts';

/**
 * Where a source may read into, again and again: a buffer is good until three more were taken. Fresh memory for every piece
 * costs as much as reading it. Who gives one keeps nothing of what comes.
 */
export type Buffers = () => Buffer;

/** Small enough to stay in a processor's cache from the reading to the writing. */
const CHUNK = 512 << 10;

/**
 * One is hashed, one is on its way to the disk, one is read into, and one is to spare. For one reader at a time.
 * @param size of the largest file they are for
 */
export const newBuffers = (size = CHUNK): Buffers => {
  const ring: Buffer[] = [];
  let taken = 0;
  return () => {
    const at = taken++ % 4;
    ring[at] ??= Buffer.allocUnsafeSlow(Math.max(1, Math.min(CHUNK, size)));
    return ring[at];
  };
};

export type Span = { readonly offset: number; readonly size: number };

export type ReadOptions = {
  readonly signal?: AbortSignal | undefined;
  readonly buffers?: Buffers | undefined;
};

/**
 * A part of a file in pieces; the next one is read while the one before is worked on.
 * @param name for messages: 'the medium /media/stick.tar'
 * @throws FleetError TRUNCATED when the file ends earlier, IO
 */
export async function* readSpan(
  handle: Pick<RandomAccess, 'read'>,
  { offset, size }: Span,
  name: string,
  { signal, buffers }: ReadOptions = {},
): AsyncGenerator<Uint8Array> {
  let done = 0;
  const read = async (): Promise<Uint8Array | undefined> => {
    if (done === size) return undefined;
    signal?.throwIfAborted();
    const buffer = buffers?.() ?? Buffer.allocUnsafe(Math.min(CHUNK, size - done));
    const length = Math.min(buffer.byteLength, size - done);
    const { bytesRead } = await handle.read(buffer, 0, length, offset + done).catch((error: unknown) => {
      // The system's own words do not say of which file.
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
      // It is thrown when it is its turn.
      next.catch(() => {});
      yield chunk;
    }
  } finally {
    await next.catch(() => {});
  }
}

/**
 * A whole file, opened when somebody reads: what nobody reads is not left open.
 * @param openFile how it is opened; undefined, as ENOENT: it is gone, and whoever reads it has found it a moment ago
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
