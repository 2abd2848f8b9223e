import { constants } from 'node:fs';
import { type FileHandle, open, truncate } from 'node:fs/promises';
import { writeBehind } from '#bundles/layout/write-behind';
import { inBlocks } from './in-blocks.ts';
import { openDirect } from './open-direct.ts';
import { BLOCK, giveMemory, type PageMemory, takeMemory } from './page-memory.ts';
import { pieceWriter } from './piece-writer.ts';

/** Bytes after which what was written is made to last. */
const SYNC_EVERY = 32 << 20;

export type WriteSyncedOptions = {
  readonly from?: number;
  readonly size?: number;
  readonly memory?: PageMemory | undefined;
  readonly onSynced?: (offset: number) => void;
};

/**
 * Writes a file to the device and not only to memory.
 * @param content each chunk valid until the next is asked for
 * @param from where a file that was begun is gone on with; 0: it must not be there
 * @param size about what will come, in bytes: a small file is not worth opening twice
 * @param memory that `content` is read into: what lies there is valid until the next but one is asked for, and written as it is
 * @param onSynced told how far the file is on the device, now and then and at the end @throws what the system, `content` and it throw
 */
export const writeSynced = async (
  path: string,
  content: AsyncIterable<Uint8Array>,
  { from = 0, size = BLOCK, memory, onSynced }: WriteSyncedOptions = {},
): Promise<void> => {
  if (from > 0) await truncate(path, from);
  const file = await open(path, from > 0 ? 'r+' : 'wx', 0o644);
  const own = memory ?? takeMemory();
  let direct: FileHandle | undefined;
  try {
    // Some let nobody open a file twice. What else may be wrong with it, the first write says.
    if (size >= BLOCK) direct = await openDirect(path, constants.O_WRONLY).catch(() => undefined);
    const pieces = inBlocks(content, own, from);
    const write = pieceWriter({ file, direct }, from);
    await (onSynced ? writeAndSync(file, pieces, write, from, onSynced) : writeBehind(pieces, write));
    await file.sync();
    if (onSynced) onSynced((await file.stat()).size);
  } finally {
    await Promise.all([direct?.close(), file.close()]);
    if (!memory) giveMemory(own);
  }
};

/** A large file is made to last while it is written, and not all at the end. */
const writeAndSync = async (
  file: FileHandle,
  pieces: AsyncIterable<Uint8Array>,
  write: (piece: Uint8Array) => Promise<void>,
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
    for await (const piece of pieces) {
      if (failure) throw failure.error;
      if (!syncing && offset - synced >= SYNC_EVERY) {
        synced = offset;
        syncing = sync(offset);
      }
      yield piece;
      // The one before is written when the next is asked for.
      offset += before;
      before = piece.byteLength;
    }
  };
  try {
    await writeBehind(watched(), write);
  } finally {
    await syncing;
  }
  if (failure) throw failure.error;
};
