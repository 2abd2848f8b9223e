import { PAGE, type PageMemory } from './page-memory.ts';

/**
 * Content in pieces of whole pages, of memory and of the file, for a device to take as they are: chunks that a source read into
 * this memory, and all else put together in its blocks. Only the first piece, up to the end of a page that was begun, and the last
 * may be other than whole pages. Some are empty.
 * @param content each chunk valid until the next is asked for; one that lies in this memory until the next but one
 * @param from where in the file it begins
 * @returns pieces, each valid until the next but one is asked for
 */
export async function* inBlocks(
  content: AsyncIterable<Uint8Array>,
  memory: Pick<PageMemory, 'blocks' | 'isPaged'>,
  from = 0,
): AsyncGenerator<Uint8Array> {
  const { blocks } = memory;
  let block = blocks[0];
  let size = block.byteLength - (from % PAGE);
  let filled = 0;
  const take = (): Uint8Array => {
    const full = block.subarray(0, filled);
    block = block === blocks[0] ? blocks[1] : blocks[0];
    size = block.byteLength;
    filled = 0;
    return full;
  };
  let aligned = from % PAGE === 0;
  /** The last piece is the source's own chunk. */
  let lent = false;
  for await (const chunk of content) {
    if (filled === 0 && aligned && chunk.byteLength % PAGE === 0 && memory.isPaged(chunk)) {
      yield chunk;
      lent = true;
      continue;
    }
    // Who writes is done with a piece when he asks for the next but one, and the source may be asked for another before that.
    if (lent) yield block.subarray(0, 0);
    lent = false;
    for (let at = 0; at < chunk.byteLength; ) {
      const taken = Math.min(chunk.byteLength - at, size - filled);
      block.set(chunk.subarray(at, at + taken), filled);
      filled += taken;
      at += taken;
      if (filled < size) continue;
      yield take();
      aligned = true;
    }
  }
  if (filled > 0) yield take();
}
