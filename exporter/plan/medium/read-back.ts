import { createHash } from 'node:crypto';
import { stat } from 'node:fs/promises';
import type { Digest } from '#bundles/digest';
import { toFleetError } from '#bundles/errors';
import { openReadable, type Readable } from './open-readable.ts';

/** The unit of O_DIRECT, and a page of memory. */
export const PAGE = 4096;

/** Bytes of one read, and of a page of WebAssembly memory. */
const HALF = 1 << 20;
const WASM_PAGE = 64 << 10;

/** Two buffers of HALF bytes: one is hashed while the other is read into. */
type Halves = readonly [Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>];

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
  const memory = idle.pop() ?? newHalves();
  let file: Readable | undefined;
  // Direct reads begin at a page; what stands before the span on its first one is read, too.
  let before = offset % PAGE;
  let left = size;
  try {
    file = await openReadable(path, past);
    for await (const view of readViews(file.read, memory, path, {
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
    await file?.close();
    idle.push(memory);
  }
}

/** Buffers in no use. Their address space is never returned, so they are used again. */
const idle: Halves[] = [];

const newHalves = (): Halves => {
  const buffer = newPages(2 * HALF) ?? new ArrayBuffer(2 * HALF);
  return [new Uint8Array(buffer, 0, HALF), new Uint8Array(buffer, HALF, HALF)];
};

/** JavaScript has no other memory that begins at a page. Undefined where no address space is left for it (`ulimit -v`). */
const newPages = (size: number): ArrayBuffer | undefined => {
  const { WebAssembly } = globalThis as unknown as {
    readonly WebAssembly: {
      readonly Memory: new (size: { readonly initial: number }) => { readonly buffer: ArrayBuffer };
    };
  };
  try {
    return new WebAssembly.Memory({ initial: size / WASM_PAGE }).buffer;
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
};

/**
 * `size` bytes of a file from `from`, fewer where it ends, as views of two buffers that take turns: a view lasts until the next
 * is requested. Whole pages are read, as O_DIRECT requires: the last view may hold more than is wanted.
 */
async function* readViews(
  readPages: Readable['read'],
  buffers: Halves,
  name: string,
  {
    from,
    size,
    signal,
  }: { readonly from: number; readonly size: number; readonly signal?: AbortSignal | undefined },
): AsyncGenerator<Uint8Array> {
  let position = from;
  const end = from + size;
  const read = async (buffer: Uint8Array<ArrayBuffer>): Promise<number> => {
    if (position >= end) return 0;
    const length = Math.min(buffer.byteLength, Math.ceil((end - position) / PAGE) * PAGE);
    try {
      return await readPages(buffer, length, position);
    } catch (error) {
      throw toFleetError(error, `reading ${name}`);
    }
  };
  let [current, next] = buffers;
  let pending = read(current);
  // A reader that stops early must not leave an unhandled rejection behind.
  pending.catch(() => {});
  try {
    for (;;) {
      signal?.throwIfAborted();
      const count = await pending;
      if (count === 0) return;
      position += count;
      pending = read(next);
      pending.catch(() => {});
      yield current.subarray(0, count);
      [current, next] = [next, current];
    }
  } finally {
    // The caller may use the buffers and the handle again only when the last read is over.
    await pending.catch(() => {});
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
