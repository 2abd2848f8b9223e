import { type FileHandle, open, truncate } from 'node:fs/promises';
import { writeBehind } from '#bundles/layout/write-behind';

/** Written at once. Smaller pieces cost more to hand over than to write. */
const BLOCK = 512 << 10;
/** Bytes after which what was written is sent on to the device. */
const SYNC_EVERY = 32 << 20;
/** As large as this they are handed on as they are. */
const LARGE = 64 << 10;

export type WriteSyncedOptions = {
  readonly from?: number;
  readonly size?: number;
  readonly onSynced?: (offset: number) => void;
};

/**
 * Writes a file to the device and not only to memory.
 * @param content each chunk valid until the next but one is asked for
 * @param from where a file that was begun is gone on with; 0: it must not be there
 * @param size about what will come, in bytes: a small file needs no large buffers
 * @param onSynced told how far the file is on the device, now and then and at the end @throws what the system, `content` and it throw
 */
export const writeSynced = async (
  path: string,
  content: AsyncIterable<Uint8Array>,
  { from = 0, size = BLOCK, onSynced }: WriteSyncedOptions = {},
): Promise<void> => {
  if (from > 0) await truncate(path, from);
  const file = await open(path, from > 0 ? 'a' : 'wx', 0o644);
  try {
    const blocks = inBlocks(content, Math.max(1, Math.min(BLOCK, size)));
    await (onSynced ? writeAndSync(file, blocks, from, onSynced) : writeBehind(file, blocks));
    await file.sync();
    if (onSynced) onSynced((await file.stat()).size);
  } finally {
    await file.close();
  }
};

/** A large file goes to the device while it is written, and not all at the end. */
const writeAndSync = async (
  file: FileHandle,
  blocks: AsyncIterable<Uint8Array>,
  from: number,
  onSynced: (offset: number) => void,
): Promise<void> => {
  let offset = from;
  let synced = from;
  let syncing: Promise<void> | undefined;
  let failure: { readonly error: unknown } | undefined;
  const sync = async (reached: number): Promise<void> => {
    try {
      await file.datasync();
      onSynced(reached);
    } catch (error) {
      failure = { error };
    }
    syncing = undefined;
  };
  const watched = async function* (): AsyncGenerator<Uint8Array> {
    let before = 0;
    for await (const block of blocks) {
      if (failure) throw failure.error;
      if (!syncing && offset - synced >= SYNC_EVERY) {
        synced = offset;
        syncing = sync(offset);
      }
      yield block;
      // The one before is written when the next is asked for.
      offset += before;
      before = block.byteLength;
    }
  };
  try {
    await writeBehind(file, watched());
  } finally {
    await syncing;
  }
  if (failure) throw failure.error;
};

/** Small pieces joined. Two blocks are enough: when one is asked for, the one before the last is written. */
async function* inBlocks(content: AsyncIterable<Uint8Array>, size: number): AsyncGenerator<Uint8Array> {
  const blocks = [Buffer.allocUnsafeSlow(size), Buffer.allocUnsafeSlow(size)] as const;
  let block = blocks[0];
  let filled = 0;
  /** The last one handed on is the source's own: it is written only when another is handed on. */
  let lent = false;
  const take = (): Uint8Array => {
    const full = block.subarray(0, filled);
    block = block === blocks[0] ? blocks[1] : blocks[0];
    filled = 0;
    lent = false;
    return full;
  };
  for await (const chunk of content) {
    if (chunk.byteLength >= LARGE) {
      if (filled > 0) yield take();
      yield chunk;
      lent = true;
      continue;
    }
    for (let at = 0; at < chunk.byteLength; ) {
      const taken = Math.min(chunk.byteLength - at, size - filled);
      block.set(chunk.subarray(at, at + taken), filled);
      filled += taken;
      at += taken;
      if (filled === size) yield take();
    }
    if (lent) yield take();
  }
  if (filled > 0) yield take();
}
