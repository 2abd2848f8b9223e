import type { Buffers } from '#bundles/layout/read-span';

/**
 * Chunks as a source may give them at worst (Source.stream): as soon as the next is asked for, what a chunk lay in is full of
 * something else; with the reader's own buffers, what lies in all but the last two of them.
 * @param sizes of the chunks, in turn, as long as there are bytes
 */
export async function* poisonedChunks(
  bytes: Uint8Array,
  sizes: readonly number[],
  buffers?: Buffers,
): AsyncGenerator<Uint8Array> {
  const taken: Uint8Array[] = [];
  for (let at = 0, n = 0; at < bytes.byteLength; n += 1) {
    const wanted = bytes.subarray(at, at + Math.max(1, sizes[n % sizes.length] ?? 1));
    const chunk = (buffers?.() ?? new Uint8Array(wanted.byteLength)).subarray(0, wanted.byteLength);
    chunk.set(wanted.subarray(0, chunk.byteLength));
    at += chunk.byteLength;
    taken.push(chunk);
    // Two others were taken: it may be read into again.
    if (buffers) taken.at(-3)?.fill(POISON);
    yield chunk;
    if (!buffers) chunk.fill(POISON);
  }
}

/** What nobody may find in a file. */
export const POISON = 0xee;
