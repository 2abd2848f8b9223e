import { open, truncate } from 'node:fs/promises';
import { writeAll, writeBehind } from '#bundles/formats/layout/write-behind';

/** Bytes after which a file is synced while it is written on. At most twice as much waits in the page cache. */
const SYNC_EVERY = 32 << 20;

export type WriteSyncedOptions = {
  readonly from?: number;
  readonly onSynced?: (offset: number) => void;
};

/**
 * Writes a file and syncs it. A large one is synced as it grows, so that progress follows the device and no long wait is left at
 * the end.
 * @param content each chunk valid until it is written
 * @param from offset at which an existing file is continued; 0: the file must not exist
 * @param onSynced called with the offset up to which the file is on the device, now and then and at the end
 * @throws what the file system, `content` and `onSynced` throw
 */
export const writeSynced = async (
  path: string,
  content: AsyncIterable<Uint8Array>,
  { from = 0, onSynced = () => {} }: WriteSyncedOptions = {},
): Promise<void> => {
  if (from > 0) await truncate(path, from);
  const file = await open(path, from > 0 ? 'a' : 'wx', 0o644);
  let written = from;
  let begun = from;
  let syncing = Promise.resolve();
  const sync = async (offset: number): Promise<void> => {
    await file.datasync();
    onSynced(offset);
  };
  try {
    await writeBehind(content, async (chunks) => {
      await writeAll(file, chunks);
      for (const { byteLength } of chunks) written += byteLength;
      if (written - begun < SYNC_EVERY) return;
      await syncing;
      begun = written;
      syncing = sync(written);
      syncing.catch(() => {});
    });
    await syncing;
    await file.sync();
    onSynced(written);
  } finally {
    await syncing.catch(() => {});
    await file.close();
  }
};
