import { open, truncate } from 'node:fs/promises';
import { writeBehind } from '#bundles/layout/write-behind';

/** Written at once. Smaller pieces, as they come from a network, cost more to hand over than to write. */
const BLOCK = 512 << 10;

/**
 * Writes a file to the device and not only to memory. Takes copies of what comes, so that a source may use its buffers again.
 * @param from where a file that was begun is gone on with; 0: it must not be there
 * @param size about what will come, in bytes: a small file needs no large buffers
 */
export const writeSynced = async (
  path: string,
  content: AsyncIterable<Uint8Array>,
  { from = 0, size = BLOCK }: { readonly from?: number; readonly size?: number } = {},
): Promise<void> => {
  if (from > 0) await truncate(path, from);
  const file = await open(path, from > 0 ? 'a' : 'wx', 0o644);
  try {
    await writeBehind(file, inBlocks(content, Math.max(1, Math.min(BLOCK, size))));
    await file.sync();
  } finally {
    await file.close();
  }
};

/** Two buffers are enough: when a block is asked for, the one before the last is written. */
async function* inBlocks(content: AsyncIterable<Uint8Array>, size: number): AsyncGenerator<Uint8Array> {
  const blocks = [Buffer.allocUnsafeSlow(size), Buffer.allocUnsafeSlow(size)] as const;
  let block = blocks[0];
  let filled = 0;
  for await (const chunk of content) {
    for (let at = 0; at < chunk.byteLength; ) {
      const taken = Math.min(chunk.byteLength - at, size - filled);
      block.set(chunk.subarray(at, at + taken), filled);
      filled += taken;
      at += taken;
      if (filled < size) continue;
      yield block;
      block = block === blocks[0] ? blocks[1] : blocks[0];
      filled = 0;
    }
  }
  if (filled > 0) yield block.subarray(0, filled);
}
