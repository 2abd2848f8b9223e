import { randomUUID } from 'node:crypto';
import { readSync } from 'node:fs';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createGunzip } from 'node:zlib';
import { MAX_UNCOMPRESSED } from '#bundles/formats/delta/limits';
import type { OldContent } from '#bundles/formats/delta/old-content';
import { pipeThrough } from '#bundles/formats/delta/pipe-through';
import { FleetError, isFleetError, toFleetError } from '#bundles/errors';
import { createDirectory } from '#bundles/formats/layout/create-directory';
import { TEMPORARY } from '#bundles/formats/layout/write-file';
import type { Delta } from '#bundles/formats/medium/medium';

export type OldFile = OldContent & AsyncDisposable;

/** Opens a blob that is stored uncompressed. */
export const openOldBlob = async (path: string): Promise<OldFile> => fromHandle(await open(path, 'r'));

/**
 * Unpacks an old blob into an unlinked temporary file, so that a kill leaves nothing behind.
 * @param neighbour a path whose directory has room for the file
 * @throws FleetError BOMB above the largest size that a patch can have as its base, BAD_GZIP, DISK_FULL, IO
 */
export const unpackToFile = async (
  neighbour: string,
  bytes: AsyncIterable<Uint8Array>,
  form: Delta['form'],
): Promise<OldFile> => {
  const path = join(dirname(neighbour), `${TEMPORARY}${randomUUID().slice(0, 8)}`);
  await createDirectory(dirname(neighbour));
  const handle = await open(path, 'wx+', 0o600);
  try {
    await rm(path);
    await handle.writeFile(capped(form === 'gzip' ? pipeThrough(bytes, createGunzip()) : bytes));
    return await fromHandle(handle);
  } catch (error) {
    await handle.close();
    if (isFleetError(error)) throw error;
    if ((error as NodeJS.ErrnoException).code?.startsWith('Z_'))
      throw new FleetError('BAD_GZIP', 'the old blob is not a gzip file, or is damaged', { cause: error });
    throw toFleetError(error, 'unpacking an old blob');
  }
};

async function* capped(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let left = MAX_UNCOMPRESSED;
  for await (const chunk of bytes) {
    left -= chunk.byteLength;
    if (left < 0) throw new FleetError('BOMB', `an old blob has more than ${MAX_UNCOMPRESSED} bytes`);
    yield chunk;
  }
}

const fromHandle = async (handle: FileHandle): Promise<OldFile> => ({
  size: (await handle.stat()).size,
  read: (offset, length) => {
    // Synchronous for up to a page: an asynchronous read costs ten times as much, and there may be a million of them.
    if (length > PAGE) return readLong(handle, offset, length);
    const page = Buffer.allocUnsafe(length);
    return page.subarray(0, readSync(handle.fd, page, 0, length, offset));
  },
  [Symbol.asyncDispose]: () => handle.close(),
});

const PAGE = 4 << 10;

const readLong = async (handle: FileHandle, offset: number, length: number): Promise<Uint8Array> => {
  const { buffer, bytesRead } = await handle.read(Buffer.allocUnsafe(length), 0, length, offset);
  return buffer.subarray(0, bytesRead);
};
