import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import type { Digest } from '#bundles/digest';
import { toFleetError } from '#bundles/errors';
import { isRefusal, openDirect } from './open-direct.ts';
import { type BufferPair, giveMemory, PAGE, takeMemory } from './page-memory.ts';
import { readViews } from './read-views.ts';

/** Bytes of a file, and what they must hash to. */
export type FileSpan = {
  readonly path: string;
  readonly offset: number;
  readonly size: number;
  readonly digest: Digest;
  /** The file is this and nothing else. */
  readonly whole: boolean;
};

export type ReadBackOptions = {
  /** From the device and not from memory; true unless said. */
  readonly past?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onBytes?: ((bytes: number) => void) | undefined;
};

/**
 * The bytes of a file as the device has them, past the page cache where the system can (Linux, and a file system that
 * knows O_DIRECT); elsewhere as usual. Chunks are views that later ones overwrite. Ends early where the file does.
 */
export async function* readBack(
  path: string,
  { offset, size }: Pick<FileSpan, 'offset' | 'size'>,
  { past = true, signal }: ReadBackOptions = {},
): AsyncGenerator<Uint8Array> {
  const memory = takeMemory();
  let handle: FileHandle | undefined;
  // Direct reads begin at a page; what stands before the span on its first one is read, too.
  let before = offset % PAGE;
  let left = size;
  try {
    handle = (past ? await openReadable(path, memory.halves) : undefined) ?? (await open(path, 'r'));
    for await (const view of readViews(handle, memory.halves, path, {
      from: offset - before,
      size: size + before,
      signal,
    })) {
      const chunk = view.subarray(before, before + left);
      before -= Math.min(before, view.byteLength);
      left -= chunk.byteLength;
      if (chunk.byteLength > 0) yield chunk;
    }
  } finally {
    await handle?.close();
    giveMemory(memory);
  }
}

/** Some file systems take the flag and refuse the first read, so that is tried here, too. */
const openReadable = async (path: string, [buffer]: BufferPair): Promise<FileHandle | undefined> => {
  const handle = await openDirect(path, constants.O_RDONLY);
  try {
    await handle?.read(buffer, 0, PAGE, 0);
    return handle;
  } catch (error) {
    await handle?.close();
    if (isRefusal(error)) return undefined;
    throw error;
  }
};

/** Does the file hold exactly these bytes there? A missing file does not. @throws FleetError IO, PERMISSION, ABORTED */
export const holdsSpan = async (span: FileSpan, options: ReadBackOptions = {}): Promise<boolean> => {
  const { path, size, digest, whole } = span;
  try {
    if (whole) {
      const found = await stat(path);
      if (found.size !== size || !found.isFile()) return false;
    }
    const hash = createHash('sha256');
    let seen = 0;
    for await (const chunk of readBack(path, span, options)) {
      hash.update(chunk);
      seen += chunk.byteLength;
      options.onBytes?.(chunk.byteLength);
    }
    return seen === size && `sha256:${hash.digest('hex')}` === digest;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw toFleetError(error, `reading ${path} back`);
  }
};

/** Does the file hold exactly these bytes, and no others? @throws as holdsSpan */
export const holds = (
  path: string,
  size: number,
  digest: Digest,
  signal?: AbortSignal,
  onBytes?: (bytes: number) => void,
): Promise<boolean> => holdsSpan({ path, offset: 0, size, digest, whole: true }, { signal, onBytes });
