/**
 * Chunks as a source may give them at worst (Source.stream): as soon as the next but one is asked for, what a chunk lay in is
 * full of something else.
 * @param sizes of the chunks, in turn, as long as there are bytes
 */
export async function* poisonedChunks(
  bytes: Uint8Array,
  sizes: readonly number[],
): AsyncGenerator<Uint8Array> {
  let before: Uint8Array | undefined;
  for (let at = 0, n = 0; at < bytes.byteLength; n += 1) {
    const chunk = Uint8Array.from(bytes.subarray(at, at + Math.max(1, sizes[n % sizes.length] ?? 1)));
    at += chunk.byteLength;
    yield chunk;
    before?.fill(POISON);
    before = chunk;
  }
  // Asked for one behind the last.
  before = undefined;
}

/** What nobody may find in a file. */
export const POISON = 0xee;
