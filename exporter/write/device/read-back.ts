import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import type { Digest } from '#bundles/digest';
import { toFleetError } from '#bundles/errors';
import { openReadable, type Readable } from './open-readable.ts';
import { giveMemory, PAGE, takeMemory } from './page-memory.ts';
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
  let file: Readable | undefined;
  // Direct reads begin at a page; what stands before the span on its first one is read, too.
  let before = offset % PAGE;
  let left = size;
  try {
    file = await openReadable(path, past);
    for await (const view of readViews(file.read, memory.halves, path, {
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
    await file?.close().finally(() => giveMemory(memory));
  }
}

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
