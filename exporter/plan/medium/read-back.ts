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

/** Two buffers of HALF bytes: one is hashed while the other is filled. */
type Halves = readonly [Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>];

/** A range of a file and its expected digest. */
export type FileSpan = {
  readonly path: string;
  readonly offset: number;
  readonly size: number;
  readonly digest: Digest;
  /** True if the file must have exactly this content. */
  readonly whole: boolean;
};

export type ReadBackOptions = {
  /** Read from the device and not from the page cache; default true. */
  readonly past?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onBytes?: ((bytes: number) => void) | undefined;
};

/**
 * Reads a file from the device, bypassing the page cache if possible (Linux and a file system with O_DIRECT). Chunks are views that later
 * ones overwrite. Ends early if the file does.
 */
export async function* readBack(
  path: string,
  { offset, size }: Pick<FileSpan, 'offset' | 'size'>,
  { past = true, signal }: ReadBackOptions = {},
): AsyncGenerator<Uint8Array> {
  const memory = idle.pop() ?? newHalves();
  let file: Readable | undefined;
  // Direct reads start at a page, so the bytes before the span on its first page are read as well.
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

/** Unused buffers. Their address space is never released, so they are reused. */
const idle: Halves[] = [];

const newHalves = (): Halves => {
  const buffer = newPages(2 * HALF) ?? new ArrayBuffer(2 * HALF);
  return [new Uint8Array(buffer, 0, HALF), new Uint8Array(buffer, HALF, HALF)];
};

/** WebAssembly memory, the only page-aligned memory in JavaScript. undefined without address space for it (`ulimit -v`). */
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
 * Yields `size` bytes of a file from `from`, fewer if it ends, as views of two alternating buffers. A view is valid until the next one is
 * requested. O_DIRECT requires whole pages, so the last view may hold more bytes than requested.
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
  // Prevents an unhandled rejection if the consumer stops early.
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
    // The caller may reuse the buffers and the handle only after the last read has ended.
    await pending.catch(() => {});
  }
}

/** True if the range of the file has the expected digest; false for a missing file. @throws FleetError IO, PERMISSION, ABORTED */
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

/** True if the whole file has the expected digest. @throws FleetError IO, PERMISSION, ABORTED */
export const holds = (
  path: string,
  size: number,
  digest: Digest,
  signal?: AbortSignal,
  onBytes?: (bytes: number) => void,
): Promise<boolean> => holdsSpan({ path, offset: 0, size, digest, whole: true }, { signal, onBytes });
