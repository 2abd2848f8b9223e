import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import type { Digest } from '#bundles/digest';
import { toFleetError } from '#bundles/errors';
import { giveBuffers, takeBuffers } from '../source/buffer-pool.ts';
import { readViews } from '../source/read-views.ts';

/**
 * The bytes of a file as the device has them, past the page cache where the system can (Linux, and a file system that
 * knows O_DIRECT); elsewhere as usual. Chunks are views that later ones overwrite.
 */
export async function* readBack(path: string, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
  const handle = await openDirect(path);
  const buffers = takeBuffers();
  try {
    yield* readViews(handle, buffers, path, signal);
  } finally {
    giveBuffers(buffers);
    await handle.close();
  }
}

/** Some file systems take the flag and refuse the first read, so that is tried here, too. */
const openDirect = async (path: string): Promise<FileHandle> => {
  // Missing where the system has no such thing.
  const direct = (constants as { O_DIRECT?: number }).O_DIRECT;
  if (direct !== undefined) {
    let handle: FileHandle | undefined;
    const buffers = takeBuffers();
    try {
      handle = await open(path, constants.O_RDONLY | direct);
      await handle.read(buffers[0], 0, 4096, 0);
      return handle;
    } catch (error) {
      await handle?.close();
      if (!isRefusal(error)) throw error;
    } finally {
      giveBuffers(buffers);
    }
  }
  return open(path, 'r');
};

const isRefusal = (error: unknown): boolean =>
  ['EINVAL', 'ENOTSUP', 'EOPNOTSUPP'].includes((error as NodeJS.ErrnoException).code ?? '');

/** Does the file hold exactly these bytes? A missing file does not. @throws FleetError IO, PERMISSION, ABORTED */
export const holds = async (
  path: string,
  size: number,
  digest: Digest,
  signal?: AbortSignal,
  onBytes?: (bytes: number) => void,
): Promise<boolean> => {
  try {
    const found = await stat(path);
    if (found.size !== size || !found.isFile()) return false;
    const hash = createHash('sha256');
    for await (const chunk of readBack(path, signal)) {
      hash.update(chunk);
      onBytes?.(chunk.byteLength);
    }
    return `sha256:${hash.digest('hex')}` === digest;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw toFleetError(error, `reading ${path} back`);
  }
};
