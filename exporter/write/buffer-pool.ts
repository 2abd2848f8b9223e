import type { BufferPair } from './read-views.ts';

const PAGE = 64 << 10;
const PAGES = 16;

type Memory = { readonly buffer: ArrayBuffer };

/** Page-aligned, as O_DIRECT wants it; JavaScript has no other memory that is. */
const aligned = (): Uint8Array<ArrayBuffer> => {
  const { WebAssembly } = globalThis as unknown as {
    readonly WebAssembly: { readonly Memory: new (size: { readonly initial: number }) => Memory };
  };
  return new Uint8Array(new WebAssembly.Memory({ initial: PAGES }).buffer, 0, PAGE * PAGES);
};

/** Pairs that no reader has now: each costs address space for good, so they are used again. */
const idle: BufferPair[] = [];

export const takeBuffers = (): BufferPair => idle.pop() ?? [aligned(), aligned()];

export const giveBuffers = (buffers: BufferPair): void => {
  idle.push(buffers);
};
