import type { Buffers } from '#bundles/layout/read-span';

/** What O_DIRECT counts in, and a page of memory. */
export const PAGE = 4096;

/** What is written at once. Smaller pieces cost more to hand over than to write, larger ones fall out of a processor's cache. */
export const BLOCK = 512 << 10;

/** Two of one size: one is used while the other is filled. */
export type BufferPair = readonly [Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>];

/** Memory that begins at a page, for one file at a time: to read a blob into and write it from, or to read a file back into. */
export type PageMemory = {
  /** For a source to read into, see Buffers. */
  readonly ring: Buffers;
  /** Of BLOCK bytes, for who has to put pieces together. */
  readonly blocks: BufferPair;
  /** Of 1 MiB, in the place of the ring. */
  readonly halves: BufferPair;
  /** Do these bytes lie in it, at the beginning of a page? */
  readonly isPaged: (bytes: Uint8Array) => boolean;
};

/** As many as Buffers has to have. */
const RING = 4;
const WASM_PAGE = 64 << 10;

/** JavaScript has no other memory that begins at a page. Undefined where there is no address space left for it (`ulimit -v`). */
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

const newMemory = (): PageMemory => {
  const size = (RING + 2) * BLOCK;
  const pages = newPages(size);
  const buffer = pages ?? new ArrayBuffer(size);
  const block = (index: number): Buffer<ArrayBuffer> => Buffer.from(buffer, index * BLOCK, BLOCK);
  const ring = Array.from({ length: RING }, (_, index) => block(index));
  const half = (RING / 2) * BLOCK;
  let taken = 0;
  return {
    ring: () => ring[taken++ % RING] as Buffer,
    blocks: [block(RING), block(RING + 1)],
    halves: [new Uint8Array(buffer, 0, half), new Uint8Array(buffer, half, half)],
    isPaged: (bytes) => pages !== undefined && bytes.buffer === buffer && bytes.byteOffset % PAGE === 0,
  };
};

/** Those that nobody has now: each costs address space for good, so they are used again. */
const idle: PageMemory[] = [];

export const takeMemory = (): PageMemory => idle.pop() ?? newMemory();

/** Nobody reads or writes it any more. */
export const giveMemory = (memory: PageMemory): void => {
  idle.push(memory);
};
